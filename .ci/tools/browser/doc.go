// Package browser has the tests of the explorer page. The tests use the page as people do: in a Chromium, against
// the program as it is built, over the demo's cluster at a fixed time. A proxy in front of it plays what a real server
// does not do on demand, such as failing.
package browser
