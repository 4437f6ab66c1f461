package crd

import (
	"bytes"
	"fmt"
	"reflect"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/util/jsonpath"
)

// ageColumn is the column of a version that defines none.
var ageColumn = apiextensionsv1.CustomResourceColumnDefinition{
	Name: "Age", Type: "date", Description: metaDoc["creationTimestamp"], JSONPath: ".metadata.creationTimestamp",
}

// column is one printer column of a custom kind.
type column struct {
	path *jsonpath.JSONPath
	kind string
}

// printer returns a version's Table columns and cells: the name, and the columns of the
// definition. As upstream, it ignores a column with an invalid path, and all columns
// after it.
func printer(definitions []apiextensionsv1.CustomResourceColumnDefinition) ([]metav1.TableColumnDefinition, func(runtime.Object, time.Time) []any) {
	if len(definitions) == 0 {
		definitions = []apiextensionsv1.CustomResourceColumnDefinition{ageColumn}
	}
	headers := []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name", Description: metaDoc["name"]}}
	var columns []column
	for _, d := range definitions {
		path := jsonpath.New(d.Name).AllowMissingKeys(true)
		if err := path.Parse("{" + d.JSONPath + "}"); err != nil {
			break
		}
		description := d.Description
		if description == "" {
			description = "Custom resource definition column (in JSONPath format): " + d.JSONPath
		}
		headers = append(headers, metav1.TableColumnDefinition{Name: d.Name, Type: d.Type, Format: d.Format, Description: description, Priority: d.Priority})
		columns = append(columns, column{path: path, kind: d.Type})
	}
	return headers, func(obj runtime.Object, now time.Time) []any {
		cells := make([]any, 0, len(columns)+1)
		name := ""
		if m, err := meta.Accessor(obj); err == nil {
			name = m.GetName()
		}
		cells = append(cells, name)
		for i := range columns {
			cells = append(cells, columns[i].cell(obj, now))
		}
		return cells
	}
}

func (c *column) cell(obj runtime.Object, now time.Time) any {
	found, err := c.path.FindResults(content(obj))
	if err != nil || len(found) == 0 || len(found[0]) == 0 {
		return nil
	}
	value := found[0][0].Interface()
	if c.kind == "string" {
		var text bytes.Buffer
		if err := c.path.PrintResults(&text, []reflect.Value{reflect.ValueOf(value)}); err != nil {
			return nil
		}
		return text.String()
	}
	return cellOf(c.kind, value, now)
}

// cellOf converts a value to the type of its column; nil if that is not possible.
func cellOf(kind string, value any, now time.Time) any {
	switch typed := value.(type) {
	case int64:
		switch kind {
		case "integer":
			return typed
		case "number":
			return float64(typed)
		}
	case float64:
		switch kind {
		case "integer":
			return int64(typed)
		case "number":
			return typed
		}
	case bool:
		if kind == "boolean" {
			return typed
		}
	case string:
		if kind == "date" {
			return age(typed, now)
		}
	}
	return nil
}

func age(text string, now time.Time) string {
	var at metav1.Time
	if err := at.UnmarshalQueryParameter(text); err != nil {
		return "<invalid>"
	}
	if at.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(at.Time))
}

// selectable returns the field labels that can be used in selectors, and a function
// that returns their values.
func selectable(definitions []apiextensionsv1.SelectableField) ([]string, func(obj runtime.Object, label string) string) {
	if len(definitions) == 0 {
		return nil, nil
	}
	labels := make([]string, 0, len(definitions))
	paths := make(map[string]*jsonpath.JSONPath, len(definitions))
	for _, d := range definitions {
		label := joinedSteps(d.JSONPath)
		path := jsonpath.New("selectableField").AllowMissingKeys(true)
		if err := path.Parse("{" + d.JSONPath + "}"); err != nil {
			continue
		}
		labels, paths[label] = append(labels, label), path
	}
	return labels, func(obj runtime.Object, label string) string {
		path := paths[label]
		if path == nil {
			return ""
		}
		found, err := path.FindResults(content(obj))
		if err != nil || len(found) == 0 || len(found[0]) == 0 {
			return ""
		}
		if value := found[0][0].Interface(); value != nil {
			return fmt.Sprint(value)
		}
		return ""
	}
}

func joinedSteps(path string) string {
	if path != "" && path[0] == '.' {
		return path[1:]
	}
	return path
}
