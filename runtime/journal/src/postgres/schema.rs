//! The tables in a PostgreSQL database, and how an older database gets them.

use std::path::PathBuf;

use tokio_postgres::Client;

use crate::error::JournalError;
use crate::postgres::address::Address;

/// Of the advisory lock that one process at a time holds to change tables: "skbj".
const LOCK: i64 = 0x736b_626a;

/// The schema that this program writes.
const VERSION: u32 = 1;

/// What leads from each version of the schema to the next. Never changed, only added to: the number
/// of a row is the version that it starts from.
const MIGRATIONS: [&str; VERSION as usize] = [
    // Spec 5's tables, whose inline INDEX clauses are statements of their own here, since PostgreSQL
    // has no such clause. The columns that are added to them are ours; `arrival` is the order in
    // which rows came.
    "
    CREATE TABLE IF NOT EXISTS skill_invocations (
        id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
        skill_name VARCHAR(64) NOT NULL,
        invoking_agent VARCHAR(64) NOT NULL,
        correlation_id UUID NOT NULL,
        input_payload JSONB NOT NULL,
        status VARCHAR(20) NOT NULL DEFAULT 'pending',
        created_at TIMESTAMPTZ NOT NULL DEFAULT NOW()
    );
    CREATE INDEX IF NOT EXISTS idx_skill_invocations_skill_name
        ON skill_invocations (skill_name);
    CREATE INDEX IF NOT EXISTS idx_skill_invocations_correlation_id
        ON skill_invocations (correlation_id);
    CREATE INDEX IF NOT EXISTS idx_skill_invocations_created_at
        ON skill_invocations (created_at);
    ALTER TABLE skill_invocations
        ADD COLUMN IF NOT EXISTS input_digest BYTEA,
        ADD COLUMN IF NOT EXISTS arrival BIGINT GENERATED ALWAYS AS IDENTITY;

    CREATE TABLE IF NOT EXISTS skill_results (
        id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
        invocation_id UUID NOT NULL REFERENCES skill_invocations(id),
        success BOOLEAN NOT NULL,
        output_payload JSONB,
        failure_code VARCHAR(50),
        failure_message TEXT,
        failure_details JSONB,
        duration_ms INTEGER NOT NULL,
        created_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
        CONSTRAINT unique_invocation_result UNIQUE (invocation_id)
    );
    CREATE INDEX IF NOT EXISTS idx_skill_results_success ON skill_results (success);
    CREATE INDEX IF NOT EXISTS idx_skill_results_failure_code ON skill_results (failure_code);
    ALTER TABLE skill_results
        ADD COLUMN IF NOT EXISTS internal_detail TEXT,
        ADD COLUMN IF NOT EXISTS arrival BIGINT GENERATED ALWAYS AS IDENTITY;

    CREATE TABLE IF NOT EXISTS skill_events (
        id UUID PRIMARY KEY,
        kind VARCHAR(20) NOT NULL,
        name TEXT NOT NULL,
        skill_name TEXT,
        correlation_id UUID,
        body JSONB NOT NULL,
        created_at TIMESTAMPTZ NOT NULL,
        arrival BIGINT GENERATED ALWAYS AS IDENTITY
    );
    CREATE INDEX IF NOT EXISTS idx_skill_events_skill_name ON skill_events (skill_name);
    CREATE INDEX IF NOT EXISTS idx_skill_events_correlation_id ON skill_events (correlation_id);
    CREATE INDEX IF NOT EXISTS idx_skill_events_created_at ON skill_events (created_at);
    ",
];

/// Brings the database to the current schema. Several processes may do so at once.
///
/// # Errors
///
/// The database is newer than this program, or the user may not make tables.
pub(super) async fn migrate(client: &mut Client, address: &Address) -> Result<(), JournalError> {
    // Without a lock first, and without a right to make tables: most databases are current.
    let exists = client
        .query_one("SELECT to_regclass('skillbundle_schema') IS NOT NULL", &[])
        .await
        .map_err(|error| address.fault(&error))?;
    if exists.get(0) && version(client, address).await? == VERSION {
        return Ok(());
    }
    let transaction = client
        .transaction()
        .await
        .map_err(|error| address.fault(&error))?;
    let prepare = format!(
        "SELECT pg_advisory_xact_lock({LOCK});
         CREATE TABLE IF NOT EXISTS skillbundle_schema (
             version INTEGER PRIMARY KEY,
             applied_at TIMESTAMPTZ NOT NULL DEFAULT NOW()
         );"
    );
    let fault = |error| address.fault(&error);
    transaction.batch_execute(&prepare).await.map_err(fault)?;
    let found = version(transaction.client(), address).await?;
    for (from, migration) in (0..).zip(MIGRATIONS).skip(found as usize) {
        transaction.batch_execute(migration).await.map_err(fault)?;
        let insert = "INSERT INTO skillbundle_schema (version) VALUES ($1)";
        let next: i32 = from + 1;
        transaction.execute(insert, &[&next]).await.map_err(fault)?;
    }
    transaction.commit().await.map_err(fault)
}

/// The version of the database's schema, 0 if it has none of our tables.
async fn version(client: &Client, address: &Address) -> Result<u32, JournalError> {
    let select = "SELECT coalesce(max(version), 0) FROM skillbundle_schema";
    let row = client.query_one(select, &[]).await;
    let found: i32 = row.map_err(|error| address.fault(&error))?.get(0);
    match u32::try_from(found) {
        Ok(found) if found <= VERSION => Ok(found),
        _ => Err(JournalError::NewerSchema {
            path: PathBuf::from(&address.label),
            found: found.into(),
            known: VERSION.into(),
        }),
    }
}
