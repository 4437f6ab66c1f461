package scenarios

import (
	"os"
	"reflect"
	"regexp"
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

// What the document shows is a scenario, and passes.
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
	}
}

// Every field is documented, and no other.
func TestDocumentedFields(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	var walk func(prefix string, typ reflect.Type)
	walk = func(prefix string, typ reflect.Type) {
		for name, field := range fieldsOf(typ) {
			known[prefix+name] = true
			for field.Kind() == reflect.Pointer || field.Kind() == reflect.Slice {
				field = field.Elem()
			}
			if field.Kind() != reflect.Struct || field == reflect.TypeFor[Object]() {
				continue
			}
			switch field {
			case reflect.TypeFor[Spec](), reflect.TypeFor[Metadata](), reflect.TypeFor[KillPods]():
				delete(known, prefix+name)
				walk(prefix+name+".", field)
			default:
				walk("", field)
			}
		}
	}
	walk("", reflect.TypeFor[Scenario]())
	rows := regexp.MustCompile("(?m)^\\| (`[a-zA-Z.`, ]+`) \\|").FindAllStringSubmatch(document(t), -1)
	documented := map[string]bool{}
	for _, row := range rows {
		for _, name := range strings.Split(strings.ReplaceAll(row[1], "`", ""), ", ") {
			documented[name] = true
		}
	}
	for name := range known {
		switch name {
		case "name", "apply", "wait", "kill", "expect": // of a step: sections of their own
		default:
			if !documented[name] {
				t.Errorf("%s is not documented", name)
			}
		}
	}
	for name := range documented {
		if !known[name] && name != "create" && name != "delete" && name != "for" {
			t.Errorf("%s is documented, and unknown", name)
		}
	}
}
