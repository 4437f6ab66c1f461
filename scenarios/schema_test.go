package scenarios

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	openapi "k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/internal/scenario/spec"
)

// comments returns the doc comments of types and their fields, by package.Type and
// package.Type.Field.
func comments(t *testing.T, dirs ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				decl, ok := n.(*ast.GenDecl)
				if !ok {
					return true
				}
				for _, spec := range decl.Specs {
					typed, ok := spec.(*ast.TypeSpec)
					if !ok {
						continue
					}
					key := parsed.Name.Name + "." + typed.Name.Name
					all[key] = oneLine(decl.Doc)
					if fields, ok := typed.Type.(*ast.StructType); ok {
						for _, field := range fields.Fields.List {
							for _, name := range field.Names {
								all[key+"."+name.Name] = oneLine(field.Doc)
							}
						}
					}
				}
				return true
			})
		}
	}
	return all
}

func oneLine(group *ast.CommentGroup) string {
	return strings.Join(strings.Fields(group.Text()), " ")
}

func generatedSchema(t *testing.T) string {
	t.Helper()
	known := comments(t, ".", "../internal/scenario/spec", "../internal/scenario/check", "fault")
	packageOf := func(t reflect.Type) string { return t.PkgPath()[strings.LastIndex(t.PkgPath(), "/")+1:] }
	schema := spec.Schema(grammar(), spec.Describer{
		Name: func(t reflect.Type) string {
			name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
			if packageOf(t) == "fault" && name != "Fault" {
				name = "Fault" + name
			}
			return name
		},
		Text: func(t reflect.Type, field string) string {
			return known[strings.TrimSuffix(packageOf(t)+"."+t.Name()+"."+field, ".")]
		},
	})
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(schema); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// schema.json is the schema that is generated from the types and their comments.
func TestSchemaIsFresh(t *testing.T) {
	golden.Compare(t, "schema.json", generatedSchema(t))
}

// inlined puts the definitions in place of references, as the validator knows none, to
// a depth that no file of ours reaches.
func inlined(node any, defs map[string]any, depth int) any {
	switch node := node.(type) {
	case map[string]any:
		if reference, ok := node["$ref"].(string); ok {
			if depth == 0 {
				return map[string]any{}
			}
			return inlined(defs[strings.TrimPrefix(reference, "#/$defs/")], defs, depth-1)
		}
		out := map[string]any{}
		for key, value := range node {
			if key != "$defs" && key != "$schema" {
				out[key] = inlined(value, defs, depth)
			}
		}
		if value, ok := out["const"]; ok {
			out["enum"] = []any{value}
			delete(out, "const")
		}
		return out
	case []any:
		out := make([]any, len(node))
		for i := range node {
			out[i] = inlined(node[i], defs, depth)
		}
		return out
	}
	return node
}

func validator(t *testing.T) func(document any) bool {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal([]byte(Schema()), &root); err != nil {
		t.Fatal(err)
	}
	defs, _ := root["$defs"].(map[string]any)
	data, err := json.Marshal(inlined(defs["Scenario"], defs, 8))
	if err != nil {
		t.Fatal(err)
	}
	var schema openapi.Schema
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	v := validate.NewSchemaValidator(&schema, nil, "", strfmt.Default)
	return func(document any) bool { return v.Validate(document).IsValid() }
}

// documentsOf are a file's documents as JSON would give them; ok is false if it is no
// YAML at all.
func documentsOf(t *testing.T, data []byte) (all []any, ok bool) {
	t.Helper()
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document any
		if err := decoder.Decode(&document); err != nil {
			return all, err.Error() == "EOF"
		}
		all = append(all, spec.JSONValue(document))
	}
}

// The schema accepts the shipped scenarios, and refuses documents of a wrong form.
func TestSchemaValidates(t *testing.T) {
	valid := validator(t)
	for _, shipped := range []collection{library, tours} {
		for _, name := range shipped.names() {
			data, err := shipped.files.ReadFile(shipped.path(name))
			if err != nil {
				t.Fatal(err)
			}
			documents, _ := documentsOf(t, data)
			for _, document := range documents {
				if !valid(document) {
					t.Errorf("%s is refused", shipped.path(name))
				}
			}
		}
	}
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var accepted []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		documents, isYAML := documentsOf(t, data)
		wrong := !isYAML || len(documents) == 0
		for _, document := range documents {
			wrong = wrong || !valid(document)
		}
		if !wrong {
			accepted = append(accepted, strings.TrimSuffix(filepath.Base(file), ".yaml"))
		}
	}
	// What no schema can say: references, selectors and the like.
	golden.Compare(t, "testdata/schema-accepts.golden", strings.Join(accepted, "\n")+"\n")
}
