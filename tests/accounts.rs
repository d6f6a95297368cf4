//! An account of PostgreSQL that could do more than read, by itself or by what it can become, is
//! refused; and what `check` prints then mends it.

use serde_json::{Value, json};

use crate::harness::backends::postgresql_servers;
use crate::harness::client::{Server, command};
use crate::harness::postgresql::{Database, run, text};

async fn query(dsn: &str) -> Result<Value, String> {
    let server = Server::start(&[("RHIZODAT_STORE_ERP", dsn)]).await;
    let reply = server.query("erp", "select 1").await;
    if !reply.text.contains("error: ") {
        return Ok(reply.rows());
    }
    assert_eq!(reply.code(), "unsafe_role", "{}", reply.text);
    let hint = "hint: `rhizodat-mcp check` prints the SQL that mends it";
    assert!(reply.text.contains(hint), "{}", reply.text);
    let listed = server.call("stores", json!({})).await;
    let status = "\"status\":\"refused\"";
    assert!(listed.data().contains(status), "{}", listed.text);
    Err(reply.text)
}

/// What `check` finds, each as its severity, the problem and the mend.
async fn findings(dsn: &str) -> Vec<[String; 3]> {
    let checking = command(&[("RHIZODAT_STORE_ERP", dsn)])
        .args(["check", "--json"])
        .output();
    let report: Value = serde_json::from_slice(&checking.await.unwrap().stdout).unwrap();
    let found = report["stores"][0]["findings"].as_array().unwrap();
    let member = |finding: &Value, name: &str| finding[name].as_str().unwrap().to_owned();
    found
        .iter()
        .map(|finding| ["severity", "problem", "mend"].map(|name| member(finding, name)))
        .collect()
}

#[tokio::test]
async fn an_account_that_can_do_more_than_read_is_refused_with_what_mends_it() {
    for (_, superuser) in postgresql_servers() {
        let database = Database::create(&superuser).await;
        let mut admin = database.admin().await;
        let name = &database.name;
        let roles = format!(
            "create role {name}_files login password 'x'; grant pg_read_server_files to {name}_files;
             create role {name}_copies login password 'x' replication;
             create role {name}_links login password 'x';
             create foreign data wrapper way_out; create server \"Far\" foreign data wrapper way_out;
             grant usage on foreign server \"Far\" to {name}_links;
             create role {name}_calls login password 'x';
             create function dblink(text) returns text language sql as 'select $1'"
        );
        run(&mut admin, &roles).await;
        for account in ["calls", "files", "copies", "links"] {
            let dsn = database.dsn(&format!("{name}_{account}:x"));
            query(&dsn).await.unwrap_err();
            let accepted = query(&format!("{dsn}?unsafe_role=accept")).await;
            assert_eq!(accepted, Ok(json!([[1]])));
            for [severity, problem, mend] in findings(&dsn).await {
                assert_eq!(severity, "refused", "{problem}");
                run(&mut admin, &mend).await;
            }
            assert_eq!(query(&dsn).await, Ok(json!([[1]])), "{account}");
        }
        let root = database.dsn("postgres:postgres-test");
        query(&root).await.unwrap_err();
        let [[_, problem, mend]] = <[_; 1]>::try_from(findings(&root).await).unwrap();
        assert_eq!(problem, "the account `postgres` is a superuser");
        assert!(mend.starts_with("CREATE ROLE rhizodat_reader "), "{mend}");
        // A role that is put on is taken off as easily.
        let masked = format!("{root}?options=-c%20role%3Drhizodat_reader");
        query(&masked).await.unwrap_err();
        run(
            &mut admin,
            &format!(
                "drop server \"Far\" cascade; drop role {name}_files, {name}_copies, {name}_links, {name}_calls"
            ),
        )
        .await;
    }
}

#[tokio::test]
async fn an_account_that_owns_something_is_served_and_told_of() {
    for (_, superuser) in postgresql_servers() {
        let database = Database::create(&superuser).await;
        let mut admin = database.admin().await;
        let (name, reader) = (&database.name, format!("{}_reader", database.name));
        let dsn = database.dsn(&format!("{reader}:x"));
        let roles = format!(
            "create role {reader} login password 'x' bypassrls; alter database {name} owner to {reader};
             create table owned (); alter table owned owner to {reader};
             create table written (); grant insert on written to pg_database_owner"
        );
        run(&mut admin, &roles).await;
        let found = findings(&dsn).await;
        for problem in [
            format!("the account `{reader}` owns tables"),
            format!("the account `{reader}` reads past the row security of tables"),
            format!(
                "the account `{reader}` is a member of `pg_database_owner`, which may write tables; \
                 queries cannot, since they run in READ ONLY transactions"
            ),
        ] {
            let finding = found.iter().find(|[_, said, _]| *said == problem);
            let [severity, _, mend] = finding.unwrap_or_else(|| panic!("{problem}: {found:?}"));
            assert_eq!(severity, "warning", "{problem}");
            run(&mut admin, mend).await;
        }
        assert_eq!(query(&dsn).await, Ok(json!([[1]])));
        let left = findings(&dsn).await;
        let is_mended = left
            .iter()
            .all(|[_, said, _]| !said.starts_with("the account"));
        assert!(is_mended, "{left:?}");
        run(&mut admin, &format!("drop role {reader}")).await;
    }
}

/// A role that the account gets into, how, and what is then said of it: `%` stands for the name of
/// the database, which the roles' names begin with.
const BECOMES: [(&str, &str, &str); 11] = [
    (
        "create role \"%Admin\" superuser; grant \"%Admin\" to %reader",
        "refused",
        "`%Admin`, which is a superuser",
    ),
    (
        "create role \"%Admin\" superuser; create role %team; grant \"%Admin\" to %team; grant %team to %reader",
        "refused",
        "`%Admin`, which is a superuser",
    ),
    (
        "create role %copies replication; grant %copies to %reader",
        "refused",
        "`%copies`, which may replicate",
    ),
    (
        "grant pg_write_server_files, pg_execute_server_program to %reader",
        "refused",
        "`pg_execute_server_program` and `pg_write_server_files`, each of which reaches the server's files or programs",
    ),
    (
        "create role %team; grant pg_read_server_files to %team; grant %team to %reader",
        "refused",
        "`pg_read_server_files`, which reaches the server's files or programs",
    ),
    (
        "grant pg_signal_backend to %reader",
        "refused",
        "`pg_signal_backend`, which ends what other sessions do",
    ),
    (
        "create role %team; create schema hidden; grant usage on schema hidden to %team; grant %team to %reader;
         create function hidden.dblink_exec(text) returns text language sql as 'select $1';
         revoke execute on function hidden.dblink_exec(text) from public;
         grant execute on function hidden.dblink_exec(text) to %team",
        "refused",
        "`%team`, which may call dblink, which writes wherever it can log in",
    ),
    (
        "create role %team; create table owned (); alter table owned owner to %team; grant %team to %reader",
        "warning",
        "`%team`, which owns tables",
    ),
    (
        "create role %team; create table written (); grant insert on written to %team; grant %team to %reader",
        "warning",
        "`%team`, which may write tables; queries cannot, since they run in READ ONLY transactions",
    ),
    (
        "grant pg_write_all_data to %reader",
        "warning",
        "`pg_write_all_data`, which may write tables; queries cannot, since they run in READ ONLY transactions",
    ),
    (
        "create role %team bypassrls; grant %team to %reader",
        "warning",
        "`%team`, which reads past the row security of tables",
    ),
];

#[tokio::test]
async fn an_account_is_what_it_can_become() {
    for (major, superuser) in postgresql_servers() {
        let database = Database::create(&superuser).await;
        let mut admin = database.admin().await;
        let name = format!("{}_", database.name);
        let filled = |text: &str| text.replace('%', &name);
        let reader = filled("%reader");
        let dsn = database.dsn(&format!("{reader}:x"));
        for (index, (grants, severity, says)) in BECOMES.into_iter().enumerate() {
            // The first of them, which are about what it can become, both ways.
            let ways = ["inherit", "noinherit"];
            let ways = if index < 2 { &ways[..] } else { &ways[1..] };
            for inherits in ways {
                let create = format!("create role {reader} login password 'x' {inherits}");
                run(&mut admin, &create).await;
                run(&mut admin, &filled(grants)).await;
                let case = format!("{major}, {inherits}: {grants}");

                let problem = format!("the account `{reader}` is a member of {}", filled(says));
                let found = findings(&dsn).await;
                let [_, _, mend] = found
                    .iter()
                    .find(|[of, said, _]| of == severity && *said == problem)
                    .unwrap_or_else(|| panic!("{case}: {found:?}"));
                if severity == "refused" {
                    let refused = query(&dsn).await.expect_err(&case);
                    assert!(refused.contains(&problem), "{case}: {refused}");
                }
                run(&mut admin, mend).await;
                let left = findings(&dsn).await;
                let is_mended = left
                    .iter()
                    .all(|[_, said, _]| !said.contains("is a member"));
                assert!(is_mended, "{case}: {mend}: {left:?}");

                let roles = "select string_agg(quote_ident(rolname), ', ') from pg_roles where starts_with(rolname, '%')";
                let roles = text(&mut admin, &filled(roles)).await;
                let end = format!(
                    "drop owned by {roles}; drop role {roles}; drop schema if exists hidden cascade;
                     drop table if exists owned, written"
                );
                run(&mut admin, &end).await;
            }
        }
    }
}

#[tokio::test]
async fn a_membership_gives_what_its_options_say() {
    let [_, (_, superuser)] = postgresql_servers();
    let database = Database::create(&superuser).await;
    let mut admin = database.admin().await;
    let name = &database.name;
    let (reader, dsn) = (
        format!("{name}_reader"),
        database.dsn(&format!("{name}_reader:x")),
    );
    let roles = format!(
        "create role {reader} login password 'x'; create role {name}_admin superuser;
         create role {name}_team; grant pg_signal_backend to {name}_team with set false, inherit true;
         create role {name}_grants createrole; grant {name}_team to {name}_grants with admin option;
         grant {name}_admin to {reader} with set false, inherit true"
    );
    run(&mut admin, &roles).await;
    // What is only inherited from a superuser is not its being one.
    assert_eq!(query(&dsn).await, Ok(json!([[1]])));
    // A role that it becomes inherits another; and the grant is another role's.
    let grant = format!(
        "set role {name}_grants; grant {name}_team to {reader} with set true, inherit false; reset role"
    );
    run(&mut admin, &grant).await;
    let refused = query(&dsn).await.unwrap_err();
    assert!(refused.contains("`pg_signal_backend`"), "{refused}");
    let [[_, _, mend]] = <[_; 1]>::try_from(findings(&dsn).await).unwrap();
    let revoke = format!("REVOKE {name}_team FROM {reader} GRANTED BY {name}_grants;");
    assert_eq!(mend, revoke);
    run(&mut admin, &mend).await;
    assert_eq!(query(&dsn).await, Ok(json!([[1]])));
    run(
        &mut admin,
        &format!("drop role {reader}, {name}_grants, {name}_team, {name}_admin"),
    )
    .await;
}
