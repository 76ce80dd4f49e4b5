// Requests to promcost. All addresses are relative to the page, which is at ui/.

const ROOT = new URL("../", document.baseURI);

// Failure is an answer that is no answer, with what to do.
export class Failure extends Error {
  constructor(message, status = 0) {
    super(message);
    this.status = status;
  }
}

// address is the URL of a question. Parameters that are empty are left out.
export function address(path, params = {}) {
  const url = new URL(path.replace(/^\//, ""), ROOT);
  for (const [name, value] of Object.entries(params)) {
    if (value !== "" && value !== undefined && value !== null) url.searchParams.set(name, value);
  }
  return url;
}

// ask asks promcost. It throws a Failure with the server's text, or an AbortError.
export async function ask(path, params, signal) {
  const url = address(path, params);
  const began = performance.now();
  let response, text;
  try {
    response = await fetch(url, { signal, headers: { Accept: "application/json" }, credentials: "same-origin" });
    text = await response.text();
  } catch (err) {
    if (err.name === "AbortError") throw err;
    throw new Failure(`promcost does not answer at ${ROOT.href}: is it running, and is the port forwarded? Then try again.`);
  }
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new Failure(`The answer with status ${response.status} is not promcost's: is there a proxy between that has an answer of its own? It begins: ${text.slice(0, 200)}`, response.status);
  }
  if (!response.ok) throw new Failure(answer?.message ?? answer?.error ?? `status ${response.status}`, response.status);
  answer.milliseconds = performance.now() - began;
  return answer;
}

const quoted = (text) => (/^[\w.,:/=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

// curl is the command that asks the same.
export function curl(path, params) {
  const url = address(path);
  let line = `curl -sG ${quoted(url.href)}`;
  for (const [name, value] of address(path, params).searchParams) line += ` --data-urlencode ${quoted(`${name}=${value}`)}`;
  return line;
}
