package verbs

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/apiserver/internal/response"
)

// apply returns the merge function of a server-side apply (KEP-555): the applied object
// is the full set of fields that the client wants to own.
func (p patcher) apply(owner string, force bool) (func(runtime.Object) (runtime.Object, error), error) {
	applied, err := p.appliedObject()
	if err != nil {
		return nil, err
	}
	return func(current runtime.Object) (runtime.Object, error) {
		live := p.rq.NewBody()
		if current != nil {
			live = current.DeepCopyObject()
		} else if version := applied.GetResourceVersion(); version != "" {
			return nil, apierrors.NewConflict(p.rq.GroupResource(), p.rq.Name, errors.New("resourceVersion must be empty for an apply that creates the object"))
		}
		merged, err := p.rq.backend.Fields.Apply(p.rq.fieldWrite(owner), live, applied.DeepCopy(), force)
		if err != nil {
			return nil, applyError(err)
		}
		return merged, p.strictYAML()
	}, nil
}

// appliedObject decodes the body.
func (p patcher) appliedObject() (*unstructured.Unstructured, error) {
	content := map[string]any{}
	// Keep integers as integers.
	data, err := yaml.YAMLToJSON(p.data)
	if err != nil {
		err = fmt.Errorf("error converting YAML to JSON: %w", err)
	} else {
		err = kjson.UnmarshalCaseSensitivePreserveInts(data, &content)
	}
	if err == nil {
		err = p.limitQuantities(data)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	if metadata, found := content["metadata"]; found {
		if _, isMap := metadata.(map[string]any); !isMap {
			return nil, apierrors.NewBadRequest("error decoding patch: metadata is not an object")
		}
	}
	return &unstructured.Unstructured{Object: content}, nil
}

// strictYAML rejects duplicate keys or warns of them. Unknown keys have been rejected
// by the merge.
func (p patcher) strictYAML() error {
	if p.lenient() {
		return nil
	}
	err := yaml.UnmarshalStrict(p.data, &map[string]any{})
	switch {
	case err == nil:
		return nil
	case p.validation == metav1.FieldValidationStrict:
		return apierrors.NewBadRequest(fmt.Sprintf("error strict decoding patch: %v", err))
	}
	for _, text := range yamlWarnings(err) {
		response.Warn(p.rq.Writer, text)
	}
	return nil
}

// yamlWarnings returns the lines of an error that lists what strict YAML parsing
// rejects.
func yamlWarnings(err error) []string {
	list := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "), "yaml: unmarshal errors:\n")
	lines := strings.Split(list, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return lines
}

// applyError keeps API errors (a conflict lists its fields). Other errors are a 500, as
// upstream, although most are the client's fault.
func applyError(err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return err
	}
	return response.NewStatus(http.StatusInternalServerError, metav1.StatusReasonUnknown, err.Error())
}
