package dump

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Decode decodes the objects in YAML documents or in concatenated JSON values. Lists are
// replaced by their items. It returns an error for more than limit objects.
func Decode(data []byte, limit int) ([]*unstructured.Unstructured, error) {
	if text := bytes.TrimLeft(data, " \t\r\n\ufeff"); len(text) > 0 && text[0] == '{' {
		c := &collector{limit: limit}
		err := c.json(text)
		if syntax := (*json.SyntaxError)(nil); !errors.As(err, &syntax) {
			return c.objects, err
		}
		// A YAML document may begin with a brace, too.
	}
	c := &collector{limit: limit}
	err := c.yaml(data)
	return c.objects, err
}

// collector collects objects and the items of lists.
type collector struct {
	objects []*unstructured.Unstructured
	limit   int
}

func (c *collector) json(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	for n := 1; ; n++ {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = c.document(raw)
		}
		if err != nil {
			return fmt.Errorf("value %d: %w", n, err)
		}
	}
}

func (c *collector) yaml(data []byte) error {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var raw []byte
		if err == nil {
			raw, err = yaml.YAMLToJSON(document)
		}
		if err == nil && !bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
			err = c.document(raw)
		}
		if err != nil {
			return fmt.Errorf("document %d: %w", n, err)
		}
	}
}

func (c *collector) document(raw []byte) error {
	var value map[string]any
	// utiljson decodes whole numbers as int64, as upstream does for objects.
	if err := utiljson.Unmarshal(raw, &value); err != nil {
		return fmt.Errorf("not a Kubernetes object: %w", err)
	}
	if depthOver(value, MaxDepth) {
		return fmt.Errorf("nested more than %d levels deep", MaxDepth)
	}
	return c.add(value, "", "")
}

// add adds an object or the items of a list. Items of typed lists, as "kubectl get --raw"
// prints them, get their type from the list.
func (c *collector) add(value map[string]any, apiVersion, kind string) error {
	o := &unstructured.Unstructured{Object: value}
	if o.GetAPIVersion() == "" && apiVersion != "" {
		o.SetAPIVersion(apiVersion)
	}
	if o.GetKind() == "" && kind != "" {
		o.SetKind(kind)
	}
	if isList(o) {
		return c.addItems(o)
	}
	if err := whole(o); err != nil {
		return err
	}
	if len(c.objects) == c.limit {
		return fmt.Errorf("more than %d objects", MaxObjects)
	}
	c.objects = append(c.objects, o)
	return nil
}

// isList reports whether a value is a list, not an object whose kind ends with List.
func isList(o *unstructured.Unstructured) bool {
	_, items := o.Object["items"].([]any)
	return strings.HasSuffix(o.GetKind(), "List") && (items || o.GetName() == "")
}

func (c *collector) addItems(list *unstructured.Unstructured) error {
	items, _ := list.Object["items"].([]any)
	for i, item := range items {
		inner, ok := item.(map[string]any)
		err := errors.New("not an object")
		if ok {
			err = c.add(inner, typeOfItems(list), strings.TrimSuffix(list.GetKind(), "List"))
		}
		if err != nil {
			return fmt.Errorf("item %d of the %s: %w", i+1, list.GetKind(), err)
		}
	}
	return nil
}

// typeOfItems returns the apiVersion of a typed list's items. It is empty for the kind List,
// whose items have their own.
func typeOfItems(list *unstructured.Unstructured) string {
	if list.GetKind() == "List" {
		return ""
	}
	return list.GetAPIVersion()
}

// whole returns an error if a value is not a complete object.
func whole(o *unstructured.Unstructured) error {
	switch {
	case o.GetAPIVersion() == "":
		return errors.New("not a Kubernetes object: apiVersion is missing")
	case o.GetKind() == "":
		return errors.New("not a Kubernetes object: kind is missing")
	case o.GetName() == "":
		return fmt.Errorf("a %s has no metadata.name", o.GetKind())
	}
	// The rest of the package relies on metadata fields of the right types.
	raw, err := json.Marshal(o.Object["metadata"])
	if err == nil {
		err = json.Unmarshal(raw, &metav1.ObjectMeta{})
	}
	if err != nil {
		return fmt.Errorf("the metadata of %s: %w", nameOf(o), err)
	}
	return nil
}

// depthOver reports whether a value is nested deeper than limit levels.
func depthOver(value any, limit int) bool {
	if limit < 0 {
		return true
	}
	switch value := value.(type) {
	case map[string]any:
		for _, inner := range value {
			if depthOver(inner, limit-1) {
				return true
			}
		}
	case []any:
		for _, inner := range value {
			if depthOver(inner, limit-1) {
				return true
			}
		}
	}
	return false
}
