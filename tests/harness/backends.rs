//! Where the backends are. A missing one fails the test with the command that starts it.

/// The value of a variable that `scripts/backends env` prints.
pub fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("`{name}` is not set; run `scripts/test`, or start the backends with `scripts/backends start` and take over what `scripts/backends env` prints")
    })
}

/// The majors of PostgreSQL that tests run on, each with its superuser's DSN.
pub fn postgresql_servers() -> [(u32, String); 2] {
    [
        (15, variable("RHIZODAT_TEST_POSTGRESQL_15")),
        (18, variable("RHIZODAT_TEST_POSTGRESQL_18")),
    ]
}
