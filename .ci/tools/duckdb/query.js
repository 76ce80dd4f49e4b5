// Runs the SQL of standard input, statement by statement, and writes the rows of each as a line of JSON.
import { readFileSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';

const connection = await (await DuckDBInstance.create(':memory:')).connect();
for (const sql of readFileSync(0, 'utf8').split(';').filter((s) => s.trim())) {
  console.log(JSON.stringify((await connection.runAndReadAll(sql)).getRowObjectsJson()));
}
