package main

import (
	"fmt"
	"os"
	"regexp"

	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/test/wire/exchange"
)

// known is a difference that is accepted, for a reason.
type known struct {
	// Requests and Fields are regular expressions, which have to match the whole name of a request
	// and the whole path of a field.
	Requests string `json:"requests"`
	Fields   string `json:"fields"`
	Reason   string `json:"reason"`
	// Sometimes is a difference that depends on timing, so that a run need not meet it.
	Sometimes bool `json:"sometimes"`

	requests, fields *regexp.Regexp
	met              int
}

// readKnown reads the known differences.
func readKnown(path string) ([]*known, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []*known
	if err := yaml.UnmarshalStrict(data, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i, k := range list {
		if k.Reason == "" || k.Requests == "" || k.Fields == "" {
			return nil, fmt.Errorf("%s: entry %d needs requests, fields and a reason", path, i+1)
		}
		if k.requests, err = regexp.Compile(`^(?:` + k.Requests + `)$`); err != nil {
			return nil, fmt.Errorf("%s: entry %d: %w", path, i+1, err)
		}
		if k.fields, err = regexp.Compile(`^(?:` + k.Fields + `)$`); err != nil {
			return nil, fmt.Errorf("%s: entry %d: %w", path, i+1, err)
		}
	}
	return list, nil
}

// find returns the entry for a difference, or nil.
func find(list []*known, request string, d exchange.Difference) *known {
	for _, k := range list {
		if k.requests.MatchString(request) && k.fields.MatchString(d.Field) {
			return k
		}
	}
	return nil
}
