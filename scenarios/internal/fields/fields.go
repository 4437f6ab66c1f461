package fields

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	strictjson "sigs.k8s.io/json"

	"minikcm.dev/minikcm/internal/spell"
)

// Problem is a field of an object that its kind does not have, or cannot have with this
// value.
type Problem struct {
	// Path is the field, such as spec.containers[0].imag.
	Path    string
	Message string
	// Near is the field's name that Path may be meant for; empty if none is like it.
	Near string
}

// Check returns what the API server would refuse in the fields of an object. A kind that
// is neither built in nor defined has no problems.
func Check(object *unstructured.Unstructured, defined Definitions) []Problem {
	gvk := object.GroupVersionKind()
	if schema := defined[gvk]; schema != nil {
		return checkCustom(object, schema)
	}
	return checkBuiltIn(object, gvk)
}

func checkBuiltIn(object *unstructured.Unstructured, gvk schema.GroupVersionKind) []Problem {
	typed, err := scheme.Scheme.New(gvk)
	if err != nil {
		return nil
	}
	data, err := object.MarshalJSON()
	if err != nil {
		return nil // it is no object yet, which is reported elsewhere
	}
	strict, err := strictjson.UnmarshalStrict(data, typed)
	var problems []Problem
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		problems = append(problems, Problem{Path: wrong.Field, Message: fmt.Sprintf("is a %s, wanted %s", wrong.Value, kindOf(wrong.Type))})
	case err != nil:
		problems = append(problems, Problem{Message: err.Error()})
	}
	for _, err := range strict {
		var field strictjson.FieldError
		if !errors.As(err, &field) {
			continue
		}
		path := field.FieldPath()
		problems = append(problems, unknown(path, namesAt(typed, path)))
	}
	return problems
}

// unknown is the problem of a field that is none of those known beside it.
func unknown(path string, known []string) Problem {
	name := path[strings.LastIndex(path, ".")+1:]
	return Problem{Path: path, Message: "is not a field of this kind", Near: spell.Nearest(name, known)}
}
