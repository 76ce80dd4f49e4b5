package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// sized is a recommendation, as the API has it and as assistants get it: amounts in cores and bytes, parts from 0 to 1, null where unknown.
type sized struct {
	Cluster        string  `json:"cluster"`
	Namespace      string  `json:"namespace"`
	ControllerKind string  `json:"controllerKind"`
	Controller     string  `json:"controller"`
	Container      string  `json:"container"`
	Owner          *string `json:"owner,omitempty"`
	LowConfidence  bool    `json:"lowConfidence,omitempty"`
	MonthlySaving  float64 `json:"monthlySaving"`
	MonthlyRisk    float64 `json:"monthlyRisk"`
	CPU            amount  `json:"cpu"`
	Memory         amount  `json:"memory"`
}

// amount is the recommendation for a resource.
type amount struct {
	Request           float64  `json:"request"`
	Recommended       *float64 `json:"recommended"`
	Why               string   `json:"why"`
	Exceedance        *float64 `json:"exceedance"`
	CurrentExceedance *float64 `json:"currentExceedance"`
}

// sizes is the answer about recommended requests.
type sizes struct {
	Profile       string   `json:"profile"`
	Currency      string   `json:"currency"`
	Count         int      `json:"count"`
	MonthlySaving float64  `json:"monthlySaving"`
	MonthlyRisk   float64  `json:"monthlyRisk"`
	Notes         []string `json:"notes"`
	Requests      []sized  `json:"requests"`
}

// savings answers with what containers should request.
func (s *server) savings(ctx context.Context, args arguments) ([]byte, error) {
	var out sizes
	warnings, err := s.listed(ctx, "/model/savings/requests", args, &out)
	if err != nil {
		return nil, err
	}
	out.Currency = s.currency(ctx)
	shorten(&out.MonthlySaving, 100)
	shorten(&out.MonthlyRisk, 100)
	for i := range out.Requests {
		r := &out.Requests[i]
		shorten(&r.MonthlySaving, 100)
		shorten(&r.MonthlyRisk, 100)
		for _, part := range [...]*float64{r.CPU.Exceedance, r.CPU.CurrentExceedance, r.Memory.Exceedance, r.Memory.CurrentExceedance} {
			shorten(part, 1e4)
		}
	}
	return short(out, warnings)
}

// listed reads the answer of a path that lists what is longer than rows of costs, at most so much as the arguments say, and returns its warnings.
func (s *server) listed(ctx context.Context, path string, args arguments, out any) (warnings []string, err error) {
	limit, err := args.number("limit", defaultRows, mostLong)
	if err != nil {
		return nil, err
	}
	v, err := args.parameters(asIs)
	if err != nil {
		return nil, err
	}
	v.Set("limit", strconv.Itoa(limit))
	answer, err := s.ask(ctx, path, v)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(answer.Data, out); err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	return answer.Warnings, nil
}

// shorten rounds a number to a part of 1, so that it takes few words; nil stays.
func shorten(v *float64, parts float64) {
	if v != nil {
		*v = math.Round(*v*parts) / parts
	}
}
