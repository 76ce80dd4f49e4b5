package costapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/encode"
)

// serveAllocations answers with allocations.
func (a *api) serveAllocations(w http.ResponseWriter, q *request) error {
	if q.options.Accumulate == allocation.All {
		q.query.Step = 0 // one set in any case
	}
	sets, err := a.sets(q, func(sets []*allocation.Set) ([]*allocation.Set, error) { return allocation.Apply(sets, q.options) })
	if err != nil {
		return err
	}
	if err := a.checkRows(sets); err != nil {
		return err
	}
	if q.format == "csv" {
		w.Header().Set("Content-Type", csvType)
		o := a.encoding(q)
		for _, text := range o.AllWarnings(sets) { // CSV itself has no place for them
			w.Header().Add("Warning", "199 promcost "+strconv.Quote(text))
		}
		return encode.CSV(w, sets[0])
	}
	w.Header().Set("Content-Type", jsonType)
	return encode.Allocations(w, sets, a.encoding(q))
}

// checkRows refuses answers that are too long.
func (a *api) checkRows(sets []*allocation.Set) error {
	rows := 0
	for _, s := range sets {
		rows += s.Len()
	}
	if rows > a.cfg.MaxRows {
		return &statusError{http.StatusUnprocessableEntity, fmt.Sprintf("the answer would have %d allocations, at most %d are allowed: use aggregate, filter, accumulate, a longer step or a shorter window", rows, a.cfg.MaxRows)}
	}
	return nil
}

// serveAssets answers with assets. Kubecost's are a map a set, OpenCost's one map.
func (a *api) serveAssets(w http.ResponseWriter, q *request) error {
	if q.family == openCost || q.options.Accumulate == allocation.All {
		q.query.Step = 0 // assets of the whole window: the sum of those of its parts
	}
	sets, err := a.sets(q, func(sets []*allocation.Set) ([]*allocation.Set, error) { return sets, nil })
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", jsonType)
	if q.family == openCost {
		return encode.AssetMap(w, sets[0], a.encoding(q))
	}
	return encode.Assets(w, sets, a.encoding(q))
}

// encoding is how sets are written, with what is to be said of how they were computed.
func (a *api) encoding(q *request) encode.Options {
	o := encode.Options{Location: a.cfg.Zone, SingularProperties: q.singular, Warnings: q.warnings}
	resolution := q.query.Resolution
	for i, r := range q.readings {
		if resolution = max(resolution, r.Resolution); i == 0 {
			resolution = r.Resolution
		}
	}
	o.Resolution = allocation.ResolutionText(resolution)
	if q.explain {
		o.Explain = append([]*allocation.Reading{}, q.readings...)
	}
	return o
}

// serveDiagnosis answers with what there is of each input.
func (a *api) serveDiagnosis(w http.ResponseWriter, q *request) error {
	window := q.query.Window
	if window.End.After(q.now) {
		window.End = q.now
	}
	d, err := a.cfg.Diagnose(q.ctx, window)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", jsonType)
	return encode.Diagnosis(w, d, encode.Options{Location: a.cfg.Zone, Warnings: q.warnings})
}

// info is a cluster as the peers describe it.
func (a *api) info() map[string]string {
	c := a.cfg.Cluster()
	if c.Name == "" {
		c.Name = c.ID
	}
	return map[string]string{"id": c.ID, "name": c.Name, "provider": c.Provider, "region": c.Region, "version": c.Version}
}

func (a *api) serveClusterInfo(w http.ResponseWriter, _ *request) error {
	return writeData(w, a.info())
}

func (a *api) serveClusterInfoMap(w http.ResponseWriter, _ *request) error {
	info := a.info()
	delete(info, "version")
	return writeData(w, map[string]map[string]string{info["id"]: info})
}

func (a *api) serveConfigs(w http.ResponseWriter, _ *request) error {
	return writeData(w, map[string]string{"currencyCode": a.cfg.Currency})
}

// serveHealth says that the process answers.
func (a *api) serveHealth(w http.ResponseWriter, _ *request) error {
	w.Header().Set("Content-Type", textType)
	w.WriteHeader(http.StatusOK)
	return nil
}

// writeData writes the envelope around small data.
func writeData(w http.ResponseWriter, data any) error {
	body, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	w.Header().Set("Content-Type", jsonType)
	_, err = w.Write([]byte(`{"code":` + strconv.Itoa(http.StatusOK) + `,"status":"success","data":` + string(body) + "}\n"))
	return err
}
