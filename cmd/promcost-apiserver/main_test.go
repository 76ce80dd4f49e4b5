//go:build e2e

package main

import (
	"os"
	"testing"
)

// asProgram is the environment variable by which tests run their own binary as the program.
const asProgram = "PROMCOST_APISERVER_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}
