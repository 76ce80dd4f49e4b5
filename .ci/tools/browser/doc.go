// Package browser has the tests of the explorer page. They use it as people do, in a Chromium, against the program as it is built
// and the demo's cluster at a fixed time. What cannot be had of a real server, such as one that fails, a proxy before it plays.
package browser
