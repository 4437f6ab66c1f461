package scenarios

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"minikcm.dev/minikcm/scenarios/format"
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

// Every field is documented, but for those of single faults, which the schema has.
func TestDocumentedFields(t *testing.T) {
	t.Parallel()
	text := document(t)
	for _, name := range format.Fields() {
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
