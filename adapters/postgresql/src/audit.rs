//! What the store's account may do beyond reading, asked of the server on every new connection.

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Row as _};
use store::{Finding, Severity};

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

/// Roles of the server itself that reach beyond the database.
const DANGEROUS_ROLES: &str =
    "'pg_read_server_files','pg_write_server_files','pg_execute_server_program'";

/// Functions whose effect a rollback does not undo, which every account may call by default. Not
/// `pg_cancel_backend`: the gateway itself calls it, as this account, to cancel what it ran.
const EFFECTS: &str = "'pg_logical_emit_message','pg_terminate_backend',\
    'brin_summarize_new_values','brin_summarize_range','brin_desummarize_range','gin_clean_pending_list',\
    'pg_notify'";

/// Asks who the account is and what it may do.
pub(crate) async fn account(connection: &mut PgConnection) -> Result<Account, sqlx::Error> {
    let time_outs = TimeOuts::DEFAULTS;
    let sql = format!(
        "SELECT pg_catalog.current_setting('server_version'), current_user::pg_catalog.text,
            pg_catalog.pg_is_in_recovery(),
            pg_catalog.current_setting('max_prepared_transactions') <> '0',
            r.rolsuper, r.rolreplication,
            (SELECT pg_catalog.string_agg(rolname, ', ' ORDER BY rolname) FROM pg_catalog.pg_roles
                WHERE rolname IN ({DANGEROUS_ROLES})
                AND pg_catalog.pg_has_role(current_user, oid, 'MEMBER')),
            (SELECT pg_catalog.string_agg(DISTINCT p.oid::pg_catalog.regprocedure::pg_catalog.text, ', ')
                FROM pg_catalog.pg_proc p
                WHERE p.proname >= 'dblink' AND p.proname < 'dblinl'
                AND pg_catalog.has_function_privilege(p.oid, 'EXECUTE')
                AND pg_catalog.has_schema_privilege(p.pronamespace, 'USAGE')),
            (SELECT pg_catalog.string_agg(p.oid::pg_catalog.regprocedure::pg_catalog.text, ', ')
                FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_language l ON l.oid = p.prolang
                WHERE NOT l.lanpltrusted AND l.lanname NOT IN ('internal', 'c')
                AND pg_catalog.has_function_privilege(p.oid, 'EXECUTE')
                AND pg_catalog.has_schema_privilege(p.pronamespace, 'USAGE')),
            (SELECT pg_catalog.string_agg(pg_catalog.quote_ident(srvname), ', ' ORDER BY srvname)
                FROM pg_catalog.pg_foreign_server f
                WHERE pg_catalog.has_server_privilege(f.oid, 'USAGE')),
            (SELECT pg_catalog.count(*) FROM pg_catalog.pg_class
                WHERE relkind IN ('r', 'p') AND relowner = r.oid),
            (SELECT pg_catalog.string_agg(p.oid::pg_catalog.regprocedure::pg_catalog.text, ', ' ORDER BY p.proname, p.oid)
                FROM pg_catalog.pg_proc p
                WHERE p.proname IN ({EFFECTS}) AND p.pronamespace = 'pg_catalog'::pg_catalog.regnamespace
                AND pg_catalog.has_function_privilege(p.oid, 'EXECUTE')),
            pg_catalog.quote_ident(pg_catalog.current_database()), pg_catalog.pg_backend_pid(),
            pg_catalog.current_setting('{DIRECT}', true) IS NOT DISTINCT FROM 'on',
            pg_catalog.current_setting('server_version_num')::pg_catalog.int4 >= 140000
                AND pg_catalog.version() LIKE '%linux%',
            pg_catalog.quote_ident(current_user),
            EXISTS (SELECT FROM pg_catalog.pg_class c
                WHERE c.relkind IN ('r', 'p', 'v', 'f')
                AND c.relnamespace <> 'pg_catalog'::pg_catalog.regnamespace
                AND pg_catalog.has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')),
            ({time_outs})
        FROM pg_catalog.pg_roles r WHERE r.rolname = current_user"
    );
    let row = sqlx::raw_sql(AssertSqlSafe(sql))
        .fetch_one(connection)
        .await?;
    let user: String = row.try_get(1)?;
    let database: String = row.try_get(12)?;
    let role: String = row.try_get(16)?;
    let revoke =
        |functions: &str| format!("REVOKE EXECUTE ON FUNCTION {functions} FROM PUBLIC, {role};");
    let text = |index: usize| row.try_get::<Option<String>, _>(index);
    let danger = |problem: String, mend: String| Finding {
        severity: Severity::Refused,
        problem,
        mend,
    };
    let warning = |problem: String, mend: String| Finding {
        severity: Severity::Warning,
        problem,
        mend,
    };

    let mut dangers = Vec::new();
    if row.try_get(4)? {
        dangers.push(danger(
            format!("the account `{user}` is a superuser"),
            reader(&database, text(11)?.as_deref()),
        ));
    } else {
        if let Some(roles) = text(6)? {
            dangers.push(danger(
                format!("the account `{user}` is a member of {roles}: it reaches the server's files or programs"),
                format!("REVOKE {roles} FROM {role};"),
            ));
        }
        if row.try_get(5)? {
            dangers.push(danger(
                format!("the account `{user}` may replicate"),
                format!("ALTER ROLE {role} NOREPLICATION;"),
            ));
        }
        if let Some(functions) = text(7)? {
            dangers.push(danger(
                format!(
                    "the account `{user}` may call dblink, which writes wherever it can log in"
                ),
                revoke(&functions),
            ));
        }
        if let Some(functions) = text(8)? {
            dangers.push(danger(
                format!("the account `{user}` may call functions in an untrusted language, which reach the host"),
                revoke(&functions),
            ));
        }
        // Reading a foreign table needs no such right; it is for making new ways out.
        if let Some(servers) = text(9)? {
            dangers.push(danger(
                format!("the account `{user}` may use the foreign servers {servers}, which reach other databases"),
                format!("REVOKE USAGE ON FOREIGN SERVER {servers} FROM PUBLIC, {role};"),
            ));
        }
    }

    let mut warnings = Vec::new();
    if dangers.is_empty() {
        if row.try_get::<i64, _>(10)? > 0 {
            warnings.push(warning(
                format!("the account `{user}` owns tables"),
                "ALTER TABLE … OWNER TO another role: a reader owns nothing".to_owned(),
            ));
        } else if row.try_get(17)? {
            warnings.push(warning(
                format!("the account `{user}` may write tables; queries cannot, since they run in READ ONLY transactions"),
                reader(&database, text(11)?.as_deref()),
            ));
        }
        if let Some(functions) = text(11)? {
            warnings.push(warning(
                "every account may call functions whose effect no rollback undoes; queries that name them are refused here, and revoking them shuts the door in the server too".to_owned(),
                format!("REVOKE EXECUTE ON FUNCTION {functions} FROM PUBLIC;"),
            ));
        }
    }
    Ok(Account {
        version: row.try_get(0)?,
        in_recovery: row.try_get(2)?,
        two_phase: row.try_get(3)?,
        process: row.try_get(13)?,
        is_direct: row.try_get(14)?,
        notices_departure: row.try_get(15)?,
        time_outs: TimeOuts::of_session(&text(18)?.unwrap_or_default()),
        user,
        dangers,
        warnings,
    })
}

/// The SQL that makes an account that can only read. `effects` are the functions that every account
/// may call and no rollback undoes.
fn reader(database: &str, effects: Option<&str>) -> String {
    let mut sql = format!(
        "CREATE ROLE rhizodat_reader LOGIN PASSWORD '…' NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION CONNECTION LIMIT 20;\n\
         ALTER ROLE rhizodat_reader SET default_transaction_read_only = on;\n\
         GRANT CONNECT ON DATABASE {database} TO rhizodat_reader;\n\
         GRANT USAGE ON SCHEMA public TO rhizodat_reader;\n\
         GRANT SELECT ON ALL TABLES IN SCHEMA public TO rhizodat_reader;\n\
         ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO rhizodat_reader;\n\
         REVOKE CREATE ON SCHEMA public FROM PUBLIC;\n\
         REVOKE TEMPORARY ON DATABASE {database} FROM PUBLIC;"
    );
    if let Some(effects) = effects {
        sql.push_str(&format!(
            "\nREVOKE EXECUTE ON FUNCTION {effects} FROM PUBLIC;"
        ));
    }
    sql
}
