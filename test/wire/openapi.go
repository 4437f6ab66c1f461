package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"minikcm.dev/minikcm/test/wire/exchange"
	"minikcm.dev/minikcm/test/wire/requests"
)

// compareOpenAPI compares the documents of both servers: each path, each schema and each other part
// is one result.
func compareOpenAPI(ctx context.Context, pair exchange.Pair) (results []exchange.Result, err error) {
	indexes, err := both(ctx, pair, "/openapi/v3")
	if err != nil {
		return nil, err
	}
	paths := map[string]bool{}
	for i, index := range indexes {
		documents, _ := index["paths"].(map[string]any)
		indexes[i] = map[string]any{}
		for path := range documents {
			paths[path] = true
			indexes[i][path] = "listed"
		}
	}
	results = compareParts("openapi v3", "index ", map[string]any{"paths": indexes[0]}, map[string]any{"paths": indexes[1]})
	documents, err := both(ctx, pair, "/openapi/v2")
	if err != nil {
		return nil, err
	}
	results = append(results, compareDocuments("openapi v2", "", documents)...)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if indexes[0][path] == nil || indexes[1][path] == nil {
			continue // the index differs
		}
		documents, err := both(ctx, pair, "/openapi/v3/"+path)
		if err != nil {
			return nil, err
		}
		for i := range documents {
			if components, ok := documents[i]["components"].(map[string]any); ok {
				delete(documents[i], "components")
				for name, part := range components {
					documents[i]["components/"+name] = part
				}
			}
		}
		results = append(results, compareDocuments("openapi v3", path+" ", documents)...)
	}
	return results, nil
}

// both returns a JSON document of both servers.
func both(ctx context.Context, pair exchange.Pair, path string) (documents [2]map[string]any, err error) {
	for i, server := range []*exchange.Server{pair.Upstream, pair.Minikcm} {
		data, err := server.Get(ctx, path, exchange.JSON)
		if err != nil {
			return documents, err
		}
		if err := json.Unmarshal(data, &documents[i]); err != nil {
			return documents, fmt.Errorf("%s%s: %w", server.URL, path, err)
		}
	}
	return documents, nil
}

// compareDocuments compares OpenAPI documents without their texts.
func compareDocuments(area, name string, documents [2]map[string]any) []exchange.Result {
	for i, document := range documents {
		shared, _ := document["parameters"].(map[string]any)
		delete(document, "parameters") // their names contain hashes of texts
		documents[i] = comparable(document, shared, "").(map[string]any)
	}
	return compareParts(area, name, documents[0], documents[1])
}

// comparable returns a part of a document without descriptions, with parameters by name, and with
// shared parameters in place of references to them. In is the key of the part.
func comparable(part any, shared map[string]any, in string) any {
	switch part := part.(type) {
	case map[string]any:
		if ref, ok := part["$ref"].(string); ok && strings.HasPrefix(ref, "#/parameters/") {
			return comparable(shared[strings.TrimPrefix(ref, "#/parameters/")], nil, in)
		}
		out := map[string]any{}
		for key, value := range part {
			if _, text := value.(string); key == "description" && text && in != "properties" {
				continue
			}
			out[key] = comparable(value, shared, key)
		}
		return out
	case []any:
		if in == "parameters" {
			byName := map[string]any{}
			for _, p := range part {
				parameter, _ := comparable(p, shared, "").(map[string]any)
				byName[fmt.Sprintf("%v %v", parameter["in"], parameter["name"])] = parameter
			}
			return byName
		}
		out := make([]any, len(part))
		for i, item := range part {
			out[i] = comparable(item, shared, "")
		}
		return out
	}
	return part
}

// compareParts compares each element of each map of two documents.
func compareParts(area, name string, upstream, minikcm map[string]any) (results []exchange.Result) {
	for _, part := range keys(upstream, minikcm) {
		u, inUpstream := upstream[part].(map[string]any)
		m, inMinikcm := minikcm[part].(map[string]any)
		if !inUpstream || !inMinikcm {
			results = append(results, exchange.Compare(area, name+part, upstream[part], minikcm[part]))
			continue
		}
		for _, key := range keys(u, m) {
			results = append(results, exchange.Compare(area, name+part+" "+key, u[key], m[key]))
		}
	}
	return results
}

// keys returns the keys of two maps, in order.
func keys(a, b map[string]any) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// schemas returns the schemas of a server's OpenAPI v3 documents.
func schemas(ctx context.Context, server *exchange.Server) (requests.Schemas, error) {
	data, err := server.Get(ctx, "/openapi/v3", exchange.JSON)
	if err != nil {
		return nil, err
	}
	var index struct {
		Paths map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(data, &index); err != nil {
		return nil, fmt.Errorf("reading the index of OpenAPI: %w", err)
	}
	all := requests.Schemas{}
	for _, path := range slices.Sorted(maps.Keys(index.Paths)) {
		document, err := server.Get(ctx, "/openapi/v3/"+path, exchange.JSON)
		if err != nil {
			return nil, err
		}
		if err := all.Add(document); err != nil {
			return nil, err
		}
	}
	return all, nil
}
