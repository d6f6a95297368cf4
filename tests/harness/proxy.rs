//! A TCP proxy between rhizodat and a server, which does to what the server says whatever a test
//! wants to happen to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What happens to what the server says, from the moment it is chosen. Numbers are bytes of it,
/// counted for each connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Everything passes.
    None,
    /// The connection is closed.
    CutAfter(usize),
    /// The connection stays open, and nothing passes any more.
    SilentAfter(usize),
    /// Something else is said in its place.
    GarbageAfter(usize),
    /// One byte passes at a time, a hundred a second.
    Drip,
}

pub struct Proxy {
    /// `host:port` to connect to.
    pub address: String,
    fault: watch::Sender<Fault>,
    connections: Arc<AtomicUsize>,
}

impl Proxy {
    /// A proxy in front of `server`, with nothing wrong.
    pub async fn before(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (fault, chosen) = watch::channel(Fault::None);
        let connections = Arc::new(AtomicUsize::new(0));
        let (server, counted) = (server.to_owned(), Arc::clone(&connections));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(pass(client, server.clone(), chosen.clone()));
            }
        });
        Self {
            address,
            fault,
            connections,
        }
    }

    /// From now on this happens, also to connections that are there.
    pub fn choose(&self, fault: Fault) {
        self.fault.send_replace(fault);
    }

    /// How many connections were made so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

async fn pass(client: TcpStream, server: String, mut chosen: watch::Receiver<Fault>) {
    let Ok(server) = TcpStream::connect(&server).await else {
        return;
    };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let asking = async move { tokio::io::copy(&mut from_client, &mut to_server).await };
    let answering = async move {
        let mut passed = 0;
        let mut buffer = vec![0; 4096];
        loop {
            // A fault that is chosen while nothing is said takes hold at once.
            let read = tokio::select! {
                changed = chosen.changed() => {
                    changed.ok()?;
                    passed = 0;
                    0
                }
                read = from_server.read(&mut buffer) => match read {
                    Ok(0) | Err(_) => return None,
                    Ok(read) => read,
                },
            };
            let fault = *chosen.borrow();
            let said = &mut buffer[..read];
            match fault {
                Fault::CutAfter(most) if passed + said.len() >= most => {
                    let rest = most - passed;
                    to_client
                        .write_all(&said[..rest.min(said.len())])
                        .await
                        .ok()?;
                    return None::<()>;
                }
                Fault::SilentAfter(most) if passed + said.len() >= most => {
                    let rest = most - passed;
                    to_client
                        .write_all(&said[..rest.min(said.len())])
                        .await
                        .ok()?;
                    // What comes from now on is read and forgotten, until all is well again.
                    while *chosen.borrow() == fault {
                        tokio::select! {
                            changed = chosen.changed() => changed.ok()?,
                            read = from_server.read(&mut buffer) => if read.is_ok_and(|read| read == 0) {
                                chosen.changed().await.ok()?;
                            },
                        }
                    }
                    return None;
                }
                Fault::GarbageAfter(most) if passed + said.len() > most => {
                    said.fill(0xa5);
                    to_client.write_all(said).await.ok()?;
                }
                Fault::Drip => {
                    for byte in said.iter() {
                        to_client.write_all(&[*byte]).await.ok()?;
                        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                    }
                }
                _ => to_client.write_all(said).await.ok()?,
            }
            passed += read;
        }
    };
    tokio::select! {
        _ = asking => {}
        _ = answering => {}
    }
}
