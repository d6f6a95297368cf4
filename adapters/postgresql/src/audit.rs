//! What the store's account may do beyond reading, asked of the server on every new connection.

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Row as _};
use store::Finding;

use crate::rights::{Audited, Role};
use crate::time_outs::TimeOuts;

/// The server and the account that reads it.
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) version: String,
    pub(crate) user: String,
    pub(crate) in_recovery: bool,
    /// Whether the server keeps prepared transactions.
    pub(crate) two_phase: bool,
    /// The server's process of this session.
    pub(crate) process: i32,
    /// Whether the session is this connection's own, and no pooler's.
    pub(crate) is_direct: bool,
    /// Whether the server can look by itself whether its client is still there.
    pub(crate) notices_departure: bool,
    /// The time-outs of its sessions, where they have some.
    pub(crate) time_outs: TimeOuts,
    /// What makes the account unsafe for strangers' queries.
    pub(crate) dangers: Vec<Finding>,
    /// What the operator should know besides.
    pub(crate) warnings: Vec<Finding>,
}

/// A setting that means nothing to any server. Given as a start-up option it is only seen again
/// where the server's session was started by this very connection.
pub(crate) const DIRECT: &str = "rhizodat.direct";

/// Functions whose effect a rollback does not undo, which every account may call by default. Not
/// `pg_cancel_backend`: the gateway itself calls it, as this account, to cancel what it ran.
const EFFECTS: &str = "'pg_logical_emit_message','pg_terminate_backend',\
    'brin_summarize_new_values','brin_summarize_range','brin_desummarize_range','gin_clean_pending_list',\
    'pg_notify'";

/// The roles whose rights the account has. `becomes` are those that it can become: `SET ROLE` asks
/// who has logged in, so a role that its settings put on is none of its limits. What it can become
/// it is; and each of these has the rights of what it inherits from. A superuser is everybody, which
/// says no more than that it is one. `leads` are the grants to the account that make it a member.
const ROLES: &str = "me AS (
        SELECT oid, rolname, rolsuper FROM pg_catalog.pg_roles WHERE rolname = session_user),
    becomes AS MATERIALIZED (
        SELECT r.oid, r.rolsuper FROM me, pg_catalog.pg_roles r
        WHERE r.oid = me.oid OR NOT me.rolsuper AND pg_catalog.pg_has_role(me.oid, r.oid,
            CASE WHEN pg_catalog.current_setting('server_version_num')::pg_catalog.int4 >= 160000
                THEN 'SET' ELSE 'MEMBER' END)),
    role AS MATERIALIZED (
        SELECT r.oid, r.rolname, r.oid = me.oid AS is_own,
            b.oid IS NOT NULL AND r.rolsuper AS rolsuper,
            b.oid IS NOT NULL AND r.rolreplication AS rolreplication,
            b.oid IS NOT NULL AND r.rolbypassrls AS rolbypassrls
        FROM me, pg_catalog.pg_roles r LEFT JOIN becomes b ON b.oid = r.oid
        WHERE b.oid IS NOT NULL OR EXISTS (SELECT FROM becomes u
            WHERE NOT u.rolsuper AND pg_catalog.pg_has_role(u.oid, r.oid, 'USAGE'))),
    leads AS (
        SELECT m.roleid AS first, m.roleid AS last FROM me JOIN pg_catalog.pg_auth_members m ON m.member = me.oid
        UNION SELECT l.first, m.roleid FROM leads l JOIN pg_catalog.pg_auth_members m ON m.member = l.last)";

/// Who holds what, by a grant to itself (0 is everybody): so each right is found once, with the role
/// that it is to be taken from. Each catalogue is gone through once, however many the roles are.
const GRANTS: &str = "callable AS MATERIALIZED (
        SELECT p.oid, l.lanname IN ('internal', 'c') OR l.lanpltrusted AS is_trusted,
            p.proname >= 'dblink' AND p.proname < 'dblinl' AS is_dblink, a.grantee
        FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_language l ON l.oid = p.prolang,
            pg_catalog.aclexplode(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) a
        WHERE (p.proname >= 'dblink' AND p.proname < 'dblinl'
            OR NOT l.lanpltrusted AND l.lanname NOT IN ('internal', 'c'))
        AND EXISTS (SELECT FROM role u
            WHERE pg_catalog.has_schema_privilege(u.oid, p.pronamespace, 'USAGE'))),
    server AS MATERIALIZED (
        SELECT f.srvname, a.grantee FROM pg_catalog.pg_foreign_server f,
            pg_catalog.aclexplode(coalesce(f.srvacl, pg_catalog.acldefault('S', f.srvowner))) a),
    owner AS MATERIALIZED (
        SELECT DISTINCT relowner FROM pg_catalog.pg_class WHERE relkind IN ('r', 'p', 'f')),
    writer AS MATERIALIZED (
        SELECT DISTINCT grantee FROM (
            SELECT relacl FROM pg_catalog.pg_class
            WHERE relkind IN ('r', 'p', 'v', 'f') AND relacl IS NOT NULL
            AND relnamespace <> 'pg_catalog'::pg_catalog.regnamespace GROUP BY relacl) c,
            pg_catalog.aclexplode(c.relacl)
        WHERE privilege_type IN ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE'))";

/// Functions that a role may call.
fn functions(which: &str) -> String {
    format!(
        "(SELECT pg_catalog.string_agg(DISTINCT p.oid::pg_catalog.regprocedure::pg_catalog.text, ', ')
            FROM callable p WHERE {which} AND (p.grantee = r.oid OR p.grantee = 0 AND r.is_own))"
    )
}

/// Asks who the account is and what it may do.
pub(crate) async fn account(connection: &mut PgConnection) -> Result<Account, sqlx::Error> {
    let time_outs = TimeOuts::DEFAULTS;
    let dblink = functions("p.is_dblink");
    let untrusted = functions("NOT p.is_trusted");
    let sql = format!(
        "WITH RECURSIVE {ROLES}, {GRANTS}
        SELECT r.is_own, r.rolname::pg_catalog.text, r.rolsuper, r.rolreplication, r.rolbypassrls,
            {dblink},
            {untrusted},
            (SELECT pg_catalog.string_agg(DISTINCT pg_catalog.quote_ident(f.srvname), ', ')
                FROM server f WHERE f.grantee = r.oid OR f.grantee = 0 AND r.is_own),
            EXISTS (SELECT FROM owner o WHERE o.relowner = r.oid),
            EXISTS (SELECT FROM writer w WHERE w.grantee = r.oid OR w.grantee = 0 AND r.is_own),
            (SELECT pg_catalog.string_agg(pg_catalog.format('REVOKE %I FROM %I%s;', d.rolname, me.rolname,
                    -- A grant of another role than the first superuser is only found by its name.
                    CASE WHEN m.grantor <> 10
                        AND pg_catalog.current_setting('server_version_num')::pg_catalog.int4 >= 160000
                        THEN pg_catalog.format(' GRANTED BY %I', pg_catalog.pg_get_userbyid(m.grantor)) END),
                    E'\\n' ORDER BY d.rolname, m.grantor)
                FROM me JOIN pg_catalog.pg_auth_members m ON m.member = me.oid
                JOIN role d ON d.oid = m.roleid JOIN leads l ON l.first = d.oid
                WHERE l.last = r.oid),
            pg_catalog.current_setting('server_version'), pg_catalog.pg_is_in_recovery(),
            pg_catalog.current_setting('max_prepared_transactions') <> '0',
            pg_catalog.pg_backend_pid(),
            pg_catalog.current_setting('{DIRECT}', true) IS NOT DISTINCT FROM 'on',
            pg_catalog.current_setting('server_version_num')::pg_catalog.int4 >= 140000
                AND pg_catalog.version() LIKE '%linux%',
            ({time_outs}),
            pg_catalog.quote_ident(r.rolname), pg_catalog.quote_ident(pg_catalog.current_database()),
            (SELECT pg_catalog.string_agg(p.oid::pg_catalog.regprocedure::pg_catalog.text, ', ' ORDER BY p.proname, p.oid)
                FROM pg_catalog.pg_proc p
                WHERE p.proname IN ({EFFECTS}) AND p.pronamespace = 'pg_catalog'::pg_catalog.regnamespace
                AND pg_catalog.has_function_privilege(p.oid, 'EXECUTE'))
        FROM role r ORDER BY r.is_own DESC, r.rolname"
    );
    let rows = sqlx::raw_sql(AssertSqlSafe(sql))
        .fetch_all(connection)
        .await?;
    let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
    let roles = rows.iter().map(role).collect::<Result<Vec<Role>, _>>()?;
    let user: String = row.try_get(1)?;
    let time_outs = row.try_get::<Option<String>, _>(17)?.unwrap_or_default();
    let audited = Audited {
        user: &user,
        quoted: row.try_get(18)?,
        database: row.try_get(19)?,
        effects: row.try_get(20)?,
        roles: &roles,
    };
    let dangers = audited.dangers();
    let warnings = match dangers.first() {
        None => audited.warnings(),
        Some(_) => Vec::new(),
    };
    Ok(Account {
        version: row.try_get(11)?,
        in_recovery: row.try_get(12)?,
        two_phase: row.try_get(13)?,
        process: row.try_get(14)?,
        is_direct: row.try_get(15)?,
        notices_departure: row.try_get(16)?,
        time_outs: TimeOuts::of_session(&time_outs),
        user,
        dangers,
        warnings,
    })
}

fn role(row: &PgRow) -> Result<Role, sqlx::Error> {
    Ok(Role {
        is_own: row.try_get(0)?,
        name: row.try_get(1)?,
        is_superuser: row.try_get(2)?,
        replicates: row.try_get(3)?,
        bypasses_row_security: row.try_get(4)?,
        dblink: row.try_get(5)?,
        untrusted: row.try_get(6)?,
        servers: row.try_get(7)?,
        owns_tables: row.try_get(8)?,
        writes_tables: row.try_get(9)?,
        leave: row.try_get(10)?,
    })
}
