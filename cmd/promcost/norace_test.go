//go:build !race

package main

// defaultKills is how often TestKill kills the program.
const defaultKills = 200
