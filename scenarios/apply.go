package scenarios

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// fieldManager owns what scenarios apply.
const fieldManager = "minikcm-scenario"

func (a *Apply) check(line int, dir string) error {
	if len(a.Objects) == 0 && len(a.Files) == 0 {
		return at(line, "apply needs objects or files")
	}
	for i := range a.Objects {
		if err := a.Objects[i].checkWhole(); err != nil {
			return err
		}
	}
	for _, file := range a.Files {
		objects, err := readObjects(filepath.Join(dir, file))
		if err != nil {
			return at(line, "apply.files: %w", err)
		}
		a.fromFiles = append(a.fromFiles, objects...)
	}
	return nil
}

// checkWhole refuses what cannot be a whole object.
func (o *Object) checkWhole() error {
	switch {
	case o.GetAPIVersion() == "":
		return at(o.line, "an object needs apiVersion, such as v1 or apps/v1")
	case o.GetKind() == "":
		return at(o.line, "an object needs kind")
	case o.GetName() == "":
		return at(o.line, "%s needs metadata.name", o.GetKind())
	}
	return nil
}

func readObjects(path string) ([]Object, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	decoder := yaml.NewDecoder(file)
	var objects []Object
	for {
		var o Object
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, plainError(err))
		}
		if o.Object == nil {
			continue // An empty document, as before a leading "---".
		}
		if err := o.checkWhole(); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		objects = append(objects, o)
	}
}

func (a *Apply) all() []Object {
	return append(a.Objects[:len(a.Objects):len(a.Objects)], a.fromFiles...)
}

func (a *Apply) title() string {
	var names []string
	for _, o := range a.all() {
		names = append(names, o.title())
	}
	return "apply " + strings.Join(names, ", ")
}

func (o *Object) title() string {
	if o.GetName() == "" {
		return "any " + o.GetKind()
	}
	return strings.ToLower(o.GetKind()) + "/" + o.GetName()
}

func (a *Apply) run(ctx context.Context, r *run) error {
	for _, o := range a.all() {
		if err := r.apply(ctx, &o); err != nil {
			return fmt.Errorf("applying %s: %w", o.title(), err)
		}
	}
	return nil
}

func (r *run) apply(ctx context.Context, o *Object) error {
	client, err := r.resource(o.GroupVersionKind(), o.GetNamespace())
	if err != nil {
		return err
	}
	data, err := o.MarshalJSON()
	if err != nil {
		return fmt.Errorf("encoding it: %w", err)
	}
	_, err = client.Patch(ctx, o.GetName(), types.ApplyPatchType, data, metav1.PatchOptions{
		FieldManager: fieldManager, Force: ptr.To(true), FieldValidation: metav1.FieldValidationStrict,
	})
	return err
}
