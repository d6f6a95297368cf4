//! What an account's rights mean, and the SQL that takes them away.

use store::{Finding, Severity, and_list};

/// A role whose rights the account has: its own, or one that it is a member of.
pub(crate) struct Role {
    pub(crate) is_own: bool,
    pub(crate) name: String,
    pub(crate) is_superuser: bool,
    pub(crate) replicates: bool,
    pub(crate) bypasses_row_security: bool,
    /// Functions of dblink that it may call.
    pub(crate) dblink: Option<String>,
    /// Functions in untrusted languages that it may call.
    pub(crate) untrusted: Option<String>,
    /// Foreign servers that it may use.
    pub(crate) servers: Option<String>,
    pub(crate) owns_tables: bool,
    pub(crate) writes_tables: bool,
    /// The SQL by which the account is no member of it.
    pub(crate) leave: Option<String>,
}

/// An account and the roles whose rights it has.
pub(crate) struct Audited<'a> {
    pub(crate) user: &'a str,
    /// Its name, and that of the database, as SQL has them.
    pub(crate) quoted: String,
    pub(crate) database: String,
    /// The functions that it may call and no rollback undoes.
    pub(crate) effects: Option<String>,
    pub(crate) roles: &'a [Role],
}

/// A right beyond reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Right {
    Superuser,
    Host,
    Signals,
    Replication,
    Dblink,
    UntrustedLanguage,
    ForeignServers,
    Owner,
    Writes,
    PassesRowSecurity,
}

/// Those that make an account unsafe for strangers' queries, the worst first.
const DANGERS: [Right; 7] = [
    Right::Superuser,
    Right::Host,
    Right::Signals,
    Right::Replication,
    Right::Dblink,
    Right::UntrustedLanguage,
    Right::ForeignServers,
];

/// Those that the operator should know of.
const WARNINGS: [Right; 3] = [Right::Owner, Right::Writes, Right::PassesRowSecurity];

impl Right {
    fn is_of(self, role: &Role) -> bool {
        let name = role.name.as_str();
        match self {
            Self::Superuser => role.is_superuser,
            Self::Host => matches!(
                name,
                "pg_read_server_files" | "pg_write_server_files" | "pg_execute_server_program"
            ),
            Self::Signals => matches!(name, "pg_signal_backend" | "pg_signal_autovacuum_worker"),
            Self::Replication => role.replicates,
            Self::Dblink => role.dblink.is_some(),
            Self::UntrustedLanguage => role.untrusted.is_some(),
            // Reading a foreign table needs no such right; it is for making new ways out.
            Self::ForeignServers => role.servers.is_some(),
            Self::Owner => role.owns_tables,
            Self::Writes => {
                !role.owns_tables && (role.writes_tables || name == "pg_write_all_data")
            }
            Self::PassesRowSecurity => role.bypasses_row_security,
        }
    }

    /// What is said of a role that has it.
    fn says(self) -> &'static str {
        match self {
            Self::Superuser => "is a superuser",
            Self::Host => "reaches the server's files or programs",
            Self::Signals => "ends what other sessions do",
            Self::Replication => "may replicate",
            Self::Dblink => "may call dblink, which writes wherever it can log in",
            Self::UntrustedLanguage => {
                "may call functions in an untrusted language, which reach the host"
            }
            Self::ForeignServers => "may use foreign servers, which reach other databases",
            Self::Owner => "owns tables",
            Self::Writes => {
                "may write tables; queries cannot, since they run in READ ONLY transactions"
            }
            Self::PassesRowSecurity => "reads past the row security of tables",
        }
    }
}

impl Audited<'_> {
    /// What makes the account unsafe for strangers' queries.
    pub(crate) fn dangers(&self) -> Vec<Finding> {
        let is_superuser = |role: &Role| role.is_own && role.is_superuser;
        if self.roles.iter().any(is_superuser) {
            // Another account is what mends it, and every other right with it.
            return self.found(Right::Superuser, Severity::Refused);
        }
        let found = DANGERS.map(|right| self.found(right, Severity::Refused));
        found.into_iter().flatten().collect()
    }

    /// What the operator should know besides.
    pub(crate) fn warnings(&self) -> Vec<Finding> {
        let found = WARNINGS.map(|right| self.found(right, Severity::Warning));
        let mut found: Vec<Finding> = found.into_iter().flatten().collect();
        if let Some(functions) = &self.effects {
            found.push(Finding {
                severity: Severity::Warning,
                problem: "every account may call functions whose effect no rollback undoes; queries that name them are refused here, and revoking them shuts the door in the server too".to_owned(),
                mend: format!("REVOKE EXECUTE ON FUNCTION {functions} FROM PUBLIC;"),
            });
        }
        found
    }

    /// Where the account has this right: by itself, and as a member of other roles.
    fn found(&self, right: Right, severity: Severity) -> Vec<Finding> {
        let (user, says) = (self.user, right.says());
        let having = || self.roles.iter().filter(|role| right.is_of(role));
        let by_itself = having().filter(|role| role.is_own).map(|role| Finding {
            severity,
            problem: format!("the account `{user}` {says}"),
            mend: self.mend(right, role),
        });
        let mut found: Vec<Finding> = by_itself.collect();
        let others: Vec<&Role> = having().filter(|role| !role.is_own).collect();
        if !others.is_empty() {
            let names: Vec<&str> = others.iter().map(|role| role.name.as_str()).collect();
            let which = if names.len() == 1 {
                "which"
            } else {
                "each of which"
            };
            found.push(Finding {
                severity,
                problem: format!(
                    "the account `{user}` is a member of {}, {which} {says}",
                    and_list(&names)
                ),
                mend: self.leave(&others),
            });
        }
        found
    }

    /// The SQL that takes a right from the account itself.
    fn mend(&self, right: Right, role: &Role) -> String {
        let account = &self.quoted;
        let revoke = |functions: &Option<String>| {
            let functions = functions.as_deref().unwrap_or_default();
            format!("REVOKE EXECUTE ON FUNCTION {functions} FROM PUBLIC, {account};")
        };
        match right {
            Right::Superuser | Right::Host | Right::Signals | Right::Writes => self.reader(),
            Right::Replication => format!("ALTER ROLE {account} NOREPLICATION;"),
            Right::Dblink => revoke(&role.dblink),
            Right::UntrustedLanguage => revoke(&role.untrusted),
            Right::ForeignServers => {
                let servers = role.servers.as_deref().unwrap_or_default();
                format!("REVOKE USAGE ON FOREIGN SERVER {servers} FROM PUBLIC, {account};")
            }
            Right::Owner => self.reassign(),
            Right::PassesRowSecurity => format!("ALTER ROLE {account} NOBYPASSRLS;"),
        }
    }

    /// The SQL by which the account is no member of these.
    fn leave(&self, roles: &[&Role]) -> String {
        let mut lines: Vec<&str> = Vec::new();
        for line in roles.iter().filter_map(|role| role.leave.as_deref()) {
            for line in line.lines() {
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
        }
        if lines.is_empty() {
            // Nobody granted it: whoever owns a database is a member of `pg_database_owner`.
            return self.reassign();
        }
        lines.join("\n")
    }

    /// The SQL that has whoever runs it own what the account owns.
    fn reassign(&self) -> String {
        format!("REASSIGN OWNED BY {} TO CURRENT_USER;", self.quoted)
    }

    /// The SQL that makes an account that can only read.
    fn reader(&self) -> String {
        let database = &self.database;
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
        if let Some(effects) = &self.effects {
            sql.push_str(&format!(
                "\nREVOKE EXECUTE ON FUNCTION {effects} FROM PUBLIC;"
            ));
        }
        sql
    }
}
