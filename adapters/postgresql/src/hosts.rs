//! The hosts of a DSN: those before its path, or those that `host`, `hostaddr` and `port` name.

use store::{Dsn, Host, Problem};

/// The hosts to be tried, in order; at least one.
pub(crate) fn hosts(
    dsn: &Dsn,
    names: Option<&str>,
    addresses: Option<&str>,
    ports: Option<&str>,
    problems: &mut Vec<Problem>,
) -> Vec<Host> {
    let count = |list: &str| list.split(',').count();
    if let (Some(names), Some(addresses)) = (names, addresses)
        && count(names) != count(addresses)
    {
        problems.push(
            Problem::new("`host` and `hostaddr` do not hold as many places as each other")
                .with_hint("give one address for each host, in the same order"),
        );
    }
    // An address stands for the host of the same place, whose port it keeps.
    let authority = dsn.hosts();
    let listed: Vec<Host> = match addresses.or(names) {
        None => authority.to_vec(),
        Some(list) => list
            .split(',')
            .enumerate()
            .map(|(index, name)| Host {
                name: name.to_owned(),
                port: match authority {
                    [one] => one.port,
                    many => many.get(index).and_then(|host| host.port),
                },
            })
            .collect(),
    };
    if authority.len() > 1 && listed.len() != authority.len() {
        problems.push(Problem::new(
            "`host` or `hostaddr` does not hold one place for each host before the path",
        ));
    }
    let mut hosts: Vec<Host> = listed
        .into_iter()
        .filter(|host| !host.name.is_empty())
        .collect();
    if hosts.is_empty() {
        hosts.push(Host {
            name: "localhost".to_owned(),
            port: dsn.hosts().first().and_then(|host| host.port),
        });
    }
    let Some(ports) = ports else { return hosts };
    let parsed: Result<Vec<u16>, _> = ports.split(',').map(str::parse).collect();
    match parsed.as_deref() {
        Ok([port]) => hosts.iter_mut().for_each(|host| host.port = Some(*port)),
        Ok(many) if many.len() == hosts.len() => {
            for (host, port) in hosts.iter_mut().zip(many) {
                host.port = Some(*port);
            }
        }
        _ => problems.push(Problem::new(
            "`port` holds neither one number nor one for each host",
        )),
    }
    hosts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(String, u16)>, Vec<Problem>> {
        let dsn = Dsn::parse(&format!("postgresql://{text}")).unwrap();
        let mut params = dsn.params();
        let mut problems = Vec::new();
        let found = hosts(
            &dsn,
            params.text("host"),
            params.text("hostaddr"),
            params.text("port"),
            &mut problems,
        );
        let found = found.into_iter();
        let places = found.map(|host| (host.name, host.port.unwrap_or(5432)));
        if problems.is_empty() {
            Ok(places.collect())
        } else {
            Err(problems)
        }
    }

    #[test]
    fn an_address_keeps_the_port_of_its_host() {
        for (text, expected) in [
            ("u@h:1/d?hostaddr=::1", vec![("::1", 1)]),
            ("u@h:1/d?host=g", vec![("g", 1)]),
            ("u@h:1/d?host=g&port=2", vec![("g", 2)]),
            (
                "u@/d?host=g,i&hostaddr=::1,::2&port=2",
                vec![("::1", 2), ("::2", 2)],
            ),
            (
                "u@h:1,g/d?hostaddr=127.0.0.1,127.0.0.2",
                vec![("127.0.0.1", 1), ("127.0.0.2", 5432)],
            ),
        ] {
            let found = read(text).unwrap();
            let places: Vec<_> = found
                .iter()
                .map(|(name, port)| (name.as_str(), *port))
                .collect();
            assert_eq!(places, expected, "{text}");
        }
    }

    #[test]
    fn lists_of_different_lengths_are_refused() {
        for text in [
            "u@h,g/d?hostaddr=::1",
            "u@/d?host=h,g&hostaddr=::1",
            "u@/d?host=h&hostaddr=::1,::2",
            "u@h,g/d?host=i&hostaddr=::1,::2",
            "u@h,g/d?port=1,2,3",
        ] {
            assert_eq!(read(text).unwrap_err().len(), 1, "{text}");
        }
    }
}
