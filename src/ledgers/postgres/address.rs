//! Where a database is, with the password to it: what is shown of it never is the password.

use std::{fmt, str::FromStr};

use sqlx::{ConnectOptions as _, postgres::PgConnectOptions};

/// The address of a database: `postgres://USER:PASSWORD@HOST:PORT/DATABASE`.
#[derive(Clone)]
pub struct PostgresAddress {
    text: String,
    options: Box<PgConnectOptions>,
}

/// It is no address of a database. What it was is not repeated: it may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}: write it like `postgres://USER:PASSWORD@HOST:5432/DATABASE?sslmode=verify-full`")]
pub struct AddressError(String);

/// What may stand after the `?`. Whatever else stands there would be passed over, and told to the log.
const PARAMETERS: [&str; 18] = [
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "options",
    "password",
    "port",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "ssl-mode",
    "ssl-root-cert",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "statement-cache-capacity",
    "user",
];

impl PostgresAddress {
    pub(super) fn options(&self) -> PgConnectOptions {
        PgConnectOptions::clone(&self.options)
    }
}

impl FromStr for PostgresAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let text = text.trim();
        if !["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme)) {
            return Err(AddressError("this is no address of PostgreSQL".to_owned()));
        }
        let parameters = text.split_once('?').map(|(_, parameters)| parameters).unwrap_or_default();
        let names = parameters.split('&').filter_map(|parameter| parameter.split('=').next());
        let unknown = names.filter(|name| !name.is_empty()).find(|name| !PARAMETERS.contains(name));
        if let Some(name) = unknown {
            let known = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-');
            let name = if known { format!(" `{name}`") } else { String::new() };
            return Err(AddressError(format!("the address of PostgreSQL has an unknown parameter{name}")));
        }
        let options = PgConnectOptions::from_str(text);
        let options = options.map_err(|_secret| AddressError("the address of PostgreSQL cannot be read".to_owned()))?;
        let options =
            if parameters.contains("application_name=") { options } else { options.application_name("toolbooth") };
        Ok(Self { text: text.to_owned(), options: Box::new(options.disable_statement_logging()) })
    }
}

/// Where it is, and nothing that is secret.
impl fmt::Display for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.options.get_socket() {
            Some(socket) => write!(f, "postgres on {}", socket.display())?,
            None => write!(f, "postgres on {}:{}", self.options.get_host(), self.options.get_port())?,
        }
        self.options.get_database().map_or(Ok(()), |database| write!(f, ", database {database}"))
    }
}

impl fmt::Debug for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresAddress({self})")
    }
}

impl PartialEq for PostgresAddress {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for PostgresAddress {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_of_an_address_is_not_the_password() {
        for text in ["postgres://u:s3cret@db:5433/l", "postgresql://db:5433/l?user=u&password=s3cret&sslmode=require"] {
            let address: PostgresAddress = format!("{text}\n").parse().unwrap();
            assert_eq!(address.to_string(), "postgres on db:5433, database l");
            assert_eq!(format!("{address:?}"), "PostgresAddress(postgres on db:5433, database l)");
        }
        let address: PostgresAddress = "postgres://u:s3cret@%2Frun%2Fpg/l".parse().unwrap();
        assert_eq!(address.to_string(), "postgres on /run/pg, database l");
        for wrong in [
            "",
            "mysql://u:s3cret@db/l",
            "postgres://u:s3cret@db:port/l",
            "postgres://u:s3cret@db/l?pasword=s3cret",
            "postgres://u:s3cret@db/l?s3cret!",
            "postgres://u:s3cret@db/l?sslmode=s3cret",
            "postgres://u:s3/cret@db:s3cret/",
        ] {
            let error = wrong.parse::<PostgresAddress>().unwrap_err();
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{wrong}: {error}");
        }
    }
}
