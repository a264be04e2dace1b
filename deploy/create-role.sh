#!/bin/sh
# Creates the database of the service, and an ordinary role that owns only this database. The image of PostgreSQL runs
# this once, when it makes the data directory.
set -eu
psql --no-psqlrc --set=ON_ERROR_STOP=1 --username="$POSTGRES_USER" <<'EOSQL'
\set password `cat /run/secrets/database-password`
CREATE ROLE plants LOGIN PASSWORD :'password';
CREATE DATABASE plants OWNER plants ENCODING 'UTF8' TEMPLATE template0;
EOSQL
