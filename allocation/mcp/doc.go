// Package mcp serves promcost's HTTP API to assistants, by the Model Context Protocol.
//
// It asks an http.Handler, as any client would, so that an assistant sees the same numbers under the same limits:
//
//	tool call → parameters of the API → handler → JSON → compact answer
//
// promcost's own tools answer compactly: the dearest rows and a row of the rest, money rounded to what the error bounds justify,
// with the bounds and the warnings, in at most 20 kB. The tools with OpenCost's names answer in OpenCost's shape, unrounded.
package mcp

import (
	"net/http"

	"github.com/promcost/promcost/allocation/memory"
)

// Config says what is served.
type Config struct {
	// API answers the paths of the cost API, and those of Prometheus' API below /api/v1.
	API http.Handler
	// Parameters are the parameters of a path, as the API documents them.
	Parameters func(path string) []Parameter
	// Memory is the budget that answers of the API are drawn from while they are held.
	Memory *memory.Budget
	// Metrics is the reference of the metrics, as Markdown.
	Metrics string
	// Version is promcost's.
	Version string
}

// Parameter documents a parameter of the API.
type Parameter struct {
	Name    string
	Type    string // boolean, number, …, or its values separated by |
	Default string // "" means none
	Help    string
}
