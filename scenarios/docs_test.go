package scenarios

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func document(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../docs/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// What the document shows is a scenario, and passes; with the mistake that it speaks
// of, it does not.
func TestDocumentedExample(t *testing.T) {
	t.Parallel()
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(document(t), -1)
	if len(blocks) == 0 {
		t.Fatal("there is no example")
	}
	for _, block := range blocks {
		if result, tr := runScenario(t, block[1], Options{}); result.Failure != nil {
			t.Errorf("it fails:\n%s", tr)
		}
		mistake := strings.Replace(block[1], "minAvailable: 3", "minAvailable: 2", 1)
		if mistake == block[1] {
			continue
		}
		if result, _ := runScenario(t, mistake, Options{}); result.Failure == nil || !strings.Contains(result.Failure.Error(), "three pods serve") {
			t.Errorf("with the mistake: %v", result.Failure)
		}
	}
}

// schemaFields returns the names of all fields except the fields of single faults.
func schemaFields(t *testing.T) []string {
	t.Helper()
	var schema struct {
		Defs map[string]struct{ Properties map[string]any } `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(Schema()), &schema); err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for name, def := range schema.Defs {
		if strings.HasPrefix(name, "Fault") && name != "Fault" {
			continue
		}
		for field := range def.Properties {
			all[field] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Every field is documented, except the fields of single faults: the schema describes these.
func TestDocumentedFields(t *testing.T) {
	t.Parallel()
	text := document(t)
	for _, name := range schemaFields(t) {
		if !strings.Contains(text, "`"+name+"`") && !strings.Contains(text, "."+name+"`") && !strings.Contains(text, "`"+name+":") {
			t.Errorf("%s is not documented", name)
		}
	}
}

// Every shipped scenario is listed.
func TestDocumentedLibrary(t *testing.T) {
	t.Parallel()
	text := document(t)
	for _, name := range Names() {
		if !strings.Contains(text, "\n| "+name+" |") {
			t.Errorf("%s is not documented", name)
		}
	}
}
