package costapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/encode"
	"github.com/promcost/promcost/allocation/fields"
	"github.com/promcost/promcost/allocation/filter"
)

// object is a JSON object. It is written in the order of its keys.
type object map[string]any

// serveOpenAPI answers with the API's description, generated from the tables of paths, parameters and fields.
func (a *api) serveOpenAPI(w http.ResponseWriter, _ *request) error {
	body, err := json.Marshal(a.openAPI())
	if err != nil {
		return fmt.Errorf("encode description: %w", err)
	}
	w.Header().Set("Content-Type", jsonType)
	_, err = w.Write(append(body, '\n'))
	return err
}

// openAPI is the description in OpenAPI 3.0.
func (a *api) openAPI() object {
	paths := object{}
	for _, rt := range routes() {
		if rt.path != "/openapi.json" {
			paths[rt.path] = object{methodOf(rt): describe(rt)}
		}
	}
	return object{
		"openapi": "3.0.3",
		"info": object{
			"title": "promcost", "version": "v1",
			"description": "What Kubernetes workloads cost. Paths below /model are Kubecost's, /v2/allocation is ACK's, the others are OpenCost's.",
		},
		"paths": paths,
		"components": object{"schemas": object{
			"Allocation": a.allocationSchema(), "Asset": a.assetSchema(),
			"Error": typed("object", "What is wrong, where, and what would be right; a Status of Kubernetes, too.", object{
				"code": typed("integer", "The HTTP status.", nil), "message": typed("string", "", nil),
				"kind": typed("string", "", nil), "apiVersion": typed("string", "", nil), "status": typed("string", "", nil),
			}),
		}},
	}
}

// methodOf is the method that a path is described by.
func methodOf(rt route) string {
	if rt.endpoint == predictions {
		return "post"
	}
	return "get"
}

// typed is the schema of a type; help and members may be empty.
func typed(kind, help string, members object) object {
	o := object{"type": kind}
	if help != "" {
		o["description"] = help
	}
	if members != nil {
		o["properties"] = members
	}
	return o
}

// describe is the parameters and the answer of a path.
func describe(rt route) object {
	parameters := []object{}
	for _, p := range Parameters(rt.path) {
		if p.Ignored {
			continue
		}
		schema := typed("string", "", nil) // numbers and booleans have several spellings
		if p.Default != "" {
			schema["default"] = p.Default
		}
		for _, name := range append([]string{p.Name}, p.Aliases...) {
			parameters = append(parameters, object{
				"name": name, "in": "query", "description": p.Help, "schema": schema,
				"required": p.Name == "window" && p.Default == "",
			})
		}
	}
	content := object{"application/json": object{"schema": answerSchema(rt.endpoint)}}
	if rt.endpoint == information && rt.path == "/healthz" {
		content = object{"text/plain": object{"schema": typed("string", "", nil)}}
	}
	failure := object{"description": "An error.", "content": object{"application/json": object{"schema": reference("Error")}}}
	operation := object{
		"operationId": strings.Trim(strings.ReplaceAll(rt.path, "/", "_"), "_"),
		"parameters":  parameters,
		"responses":   object{"200": object{"description": "The answer.", "content": content}, "default": failure},
	}
	if rt.endpoint == predictions {
		text := object{"schema": typed("string", "Manifests of Kubernetes: documents of YAML, or JSON.", nil)}
		operation["requestBody"] = object{"required": true, "content": object{"application/yaml": text}}
	}
	return operation
}

func reference(name string) object { return object{"$ref": "#/components/schemas/" + name} }

// answerSchema is the shape of an endpoint's answer in JSON.
func answerSchema(e endpoint) object {
	data := object{}
	named := func(name string) object {
		return object{"type": "object", "additionalProperties": reference(name)}
	}
	switch e {
	case allocations:
		data = object{"type": "array", "items": named("Allocation")}
	case assetLists:
		data = object{"type": "array", "items": named("Asset")}
	case assetMaps:
		data = named("Asset")
	case changes:
		data = changeSchema()
	case abandonedWorkloads, predictions: // alone
		return object{"type": "array", "items": typed("object", "", nil)}
	case kubecostSizes: // a list or an object, alone
		return object{}
	default:
	}
	return typed("object", "", object{
		"code": typed("integer", "", nil), "status": typed("string", "", nil), "data": data,
		"coveredHours": typed("number", "Hours of the window that have data.", nil), "windowHours": typed("number", "Hours of the window up to now.", nil),
		"warnings": object{"type": "array", "items": typed("string", "", nil)},
		"warningKinds": object{"type": "array", "items": typed("object", "What the warning at the same place of the list is about, and whether costs are lost by it, estimated, or hardly touched.",
			object{"kind": typed("string", "", nil), "level": typed("string", "", nil)})},
	})
}

// changeSchema describes why costs changed.
func changeSchema() object {
	number := func(help string) object { return typed("number", help, nil) }
	nullable := func(o object) object {
		o["nullable"] = true
		return o
	}
	amounts := func(when string) object {
		members := object{
			"replicas": number("Containers at a time."), "cores": number("Cores that were paid for: the larger of request and usage."), "gib": number("The same of memory."), "gpus": number(""),
			"corePrice": nullable(number("Of a core for an hour, without idle.")), "gibPrice": nullable(number("")), "gpuPrice": nullable(number("")),
		}
		return typed("object", "What ran in the "+when+", on average over the hours that have data.", members)
	}
	since := typed("string", "The first hour or day from which on the cost stays within a quarter of its new level.", nil)
	since["format"] = "date-time"
	row := object{
		"name": typed("string", "", nil), "baseline": number(""), "cost": number(""), "change": number(""), "relative": nullable(number("")),
		"effects":      object{"type": "object", "additionalProperties": number("")},
		"withinBounds": typed("boolean", "Whether the true costs may be equal.", nil), "since": nullable(since),
		"owner": nullable(typed("string", "Whose most of the cost is.", nil)), "team": nullable(typed("string", "", nil)), "before": amounts("baseline"), "after": amounts("window"),
	}
	rows := object{"type": "array", "items": typed("object", "", row)}
	return typed("object", "", object{"total": typed("object", "", row), "rows": rows})
}

// allocationSchema describes an allocation.
func (a *api) allocationSchema() object {
	members := object{"name": typed("string", "The key.", nil)}
	properties := object{}
	for p := range allocation.NumProperties {
		switch {
		case p == allocation.PodUID: // is not served
		case p.IsMap():
			properties[p.String()] = object{"type": "object", "additionalProperties": typed("string", "", nil)}
		case p.IsList():
			properties[p.String()] = object{"type": "array", "items": typed("string", "", nil)}
		default:
			properties[p.String()] = typed("string", "", nil)
		}
	}
	members["properties"] = typed("object", "What it belongs to.", properties)
	for _, f := range slices.Concat(fields.All(), fields.OnDemand()) {
		member := typed("number", f.Help+" In "+f.Unit+".", nil)
		if f.Nullable {
			member["nullable"] = true
		}
		members[f.Name] = member
	}
	for _, name := range [...]string{"start", "end"} {
		members[name] = object{"type": "string", "format": "date-time"}
	}
	s := typed("object", "What a container or several cost in a window.", members)
	s["x-kubernetes-selectable-fields"] = a.selectable(filter.Allocations)
	return s
}

// assetSchema describes an asset.
func (a *api) assetSchema() object {
	members := object{}
	for _, name := range encode.AssetMembers() {
		members[name] = object{}
	}
	s := typed("object", "A node, disk, load balancer or the like.", members)
	s["x-kubernetes-selectable-fields"] = a.selectable(filter.Assets)
	return s
}

// selectable are the fields that field selectors may name, as Kubernetes publishes them.
func (a *api) selectable(r filter.Resource) []object {
	var list []object
	for _, name := range a.cfg.Selectable.Fields(r) {
		list = append(list, object{"fieldPath": name})
	}
	return list
}
