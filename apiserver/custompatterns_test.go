package apiserver_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// repeats compiles to 3,000 instructions.
const repeats = `(((x{0,10}){0,10}){0,10})*$`

const patternDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: texts.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: texts, singular: text, kind: Text}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          text: {type: string, pattern: "%[1]s"}
          list: {type: array, items: {type: string, allOf: [{pattern: "%[1]s"}]}}
          map: {type: object, additionalProperties: {type: string, pattern: "%[1]s"}}
          small: {type: string, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}
          ruled: {type: string, maxLength: 1000000, x-kubernetes-validations: [{rule: "self.matches('%[1]s')"}]}
          computed:
            type: object
            properties: {pattern: {type: string, maxLength: 40}, text: {type: string, maxLength: 200000}}
            x-kubernetes-validations: [{rule: "self.text.matches(self.pattern)"}]
`

func textObject(field, value string) string {
	return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Text","metadata":{"generateName":"t-"},%q:%s}`, field, value)
}

// Matching long strings with large patterns is refused instead of done: the first of
// these would take 15 seconds.
func TestCostlyPatterns(t *testing.T) {
	h := start(t)
	h.mustSend("POST", definitionsPath, asJSON(t, parseDefinition(t, fmt.Sprintf(patternDefinition, repeats))))
	const path = "/apis/example.com/v1/namespaces/default/texts"
	quoted := func(n int) string { return `"` + strings.Repeat("x", n) + `"` }
	long, middle, short := quoted(900_000), quoted(150_000), quoted(1000)
	const costly = "matching the object with its schema's patterns takes more than 300000000 steps, here a string of "
	for _, c := range []struct{ field, value, failed string }{
		{"text", long, "text: Invalid value: " + costly},
		{"list", "[" + strings.Repeat(short+",", 500) + short + "]", "]: Invalid value: " + costly},
		{"map", `{"a":` + long + "}", "map[a]: Invalid value: " + costly},
		{"ruled", long, "ruled: Invalid value: matching a string with a pattern in the schema's rules may take more than 300000000 steps, here a string of "},
		{"computed", `{"pattern":"` + repeats + `","text":` + middle + "}", "computed: Invalid value: matching a string with a pattern in the schema's rules may take"},
		{"text", short, ""},
		{"list", "[" + short + "]", ""},
		{"ruled", short, ""},
		{"computed", `{"pattern":"` + repeats + `","text":` + short + "}", ""},
		{"computed", `{"pattern":"^x+$","text":` + middle + "}", ""},
		{"small", long, ""},
	} {
		r := h.send("POST", path, textObject(c.field, c.value))
		if c.failed == "" {
			if r.code != 201 {
				t.Errorf("%s of %d bytes: %d %.300s", c.field, len(c.value), r.code, r.body)
			}
			continue
		}
		if s := r.status(t); r.code != 422 || s.Reason != metav1.StatusReasonInvalid || !strings.Contains(s.Message, c.failed) {
			t.Errorf("%s: %d %.300s, want %s", c.field, r.code, s.Message, c.failed)
		}
	}
}

// Definitions whose patterns are too large, or whose defaults take too long to match,
// are refused.
func TestCostlyDefinitions(t *testing.T) {
	h := start(t)
	var properties strings.Builder
	for i := range 500 {
		fmt.Fprintf(&properties, `"p%d":{"type":"string","pattern":"%s"},`, i, repeats)
	}
	definition := func(schema string) string {
		return `{"metadata":{"name":"texts.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"texts","kind":"Text"},
			"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{` + schema + `}}}}]}}`
	}
	wantReply(t, h.send("POST", definitionsPath, definition(strings.TrimSuffix(properties.String(), ","))), 422, metav1.StatusReasonInvalid, "instructions, at most 1000000 are allowed")
	wantReply(t, h.send("POST", definitionsPath, definition(`"a":{"type":"string","pattern":"`+repeats+`","default":"`+strings.Repeat("x", 900_000)+`"}`)),
		422, metav1.StatusReasonInvalid, "spec.versions[0].schema.openAPIV3Schema.properties[a].default: Invalid value: matching the object with its schema's patterns")
}
