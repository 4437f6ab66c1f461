package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/scenario/spec"
)

// fieldManager owns what scenarios apply.
const fieldManager = "minikcm-scenario"

// Apply is objects to apply, by server-side apply that overrides other owners, or to
// create.
type Apply struct {
	Objects []spec.Object `yaml:"objects"`
	// Files are YAML or JSON files, or folders of them, relative to the scenario's.
	Files []string `yaml:"files"`
	// Kustomize are folders with a kustomization.
	Kustomize []string `yaml:"kustomize"`
	// Namespace is the namespace of objects that name none; default default.
	Namespace string `yaml:"namespace"`
	// Template replaces ${NAME} in Files, too.
	Template bool `yaml:"template"`
	// Fails is a part of the error with which the server must refuse the objects.
	Fails string `yaml:"fails"`

	fromFiles []spec.Object
}

// All are the objects, written in the step or read from files.
func (a *Apply) All() []spec.Object { return slices.Concat(a.Objects, a.fromFiles) }

func (a *Apply) checkApply(c *spec.Checker)  { a.check(c, false) }
func (a *Apply) checkCreate(c *spec.Checker) { a.check(c, true) }

func (a *Apply) check(c *spec.Checker, created bool) {
	if len(a.Objects)+len(a.Files)+len(a.Kustomize) == 0 {
		c.Problem("", "needs objects, files or kustomize")
	}
	c.Objects("objects", a.Objects, created)
	a.fromFiles = nil
	for i, file := range a.Files {
		a.fromFiles = append(a.fromFiles, c.Files(fmt.Sprintf("files[%d]", i), file, spec.Reading{Template: a.Template, Created: created})...)
	}
	for i, dir := range a.Kustomize {
		a.fromFiles = append(a.fromFiles, c.Kustomization(fmt.Sprintf("kustomize[%d]", i), dir, spec.Reading{Created: created})...)
	}
	for _, objects := range [][]spec.Object{a.Objects, a.fromFiles} {
		for i := range objects {
			if objects[i].Object != nil && objects[i].GetNamespace() == "" && a.Namespace != "" {
				objects[i].SetNamespace(a.Namespace)
			}
		}
	}
}

func (a *Apply) applyTitle() string  { return "apply " + a.title() }
func (a *Apply) createTitle() string { return "create " + a.title() }

func (a *Apply) title() string {
	var names []string
	for _, o := range a.All() {
		names = append(names, o.Title())
	}
	if len(names) > maxTitled {
		more := len(names) - maxTitled + 1
		names = append(names[:maxTitled-1], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// maxTitled caps the objects that a title names.
const maxTitled = 5

// typed are the objects whose fields are compared with the schemas of their kinds: none if
// the server is expected to refuse them, or if they are a dump, which may be of another
// version of Kubernetes.
func (a *Apply) typed() []spec.Object {
	if a.Fails != "" || isDump(a) {
		return nil
	}
	return a.All()
}

// overwrites are the objects, unless the server is expected to refuse them.
func (a *Apply) overwrites() []spec.Object {
	if a.Fails != "" {
		return nil
	}
	return a.All()
}

// each calls do for every object, and compares the outcome with Fails.
func (b *branch) each(a *Apply, doing string, do func(client dynamic.ResourceInterface, o *spec.Object) error) error {
	for _, o := range a.All() {
		placed, q, err := b.run.kinds.Placed(&o)
		if err == nil {
			err = do(b.run.resource(q), placed)
		}
		switch {
		case a.Fails != "" && err == nil:
			return fmt.Errorf("%s %s: it should fail with %q, and did not", doing, o.Title(), a.Fails)
		case a.Fails != "" && strings.Contains(err.Error(), a.Fails):
			b.note("%s: refused: %v", o.Title(), err)
		case err != nil:
			return fmt.Errorf("%s %s: %w%s", doing, o.Title(), err, b.hintAt(err))
		}
	}
	return nil
}

// hintAt returns advice about a namespace that does not exist.
func (b *branch) hintAt(err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) || b.run.cluster == nil {
		return ""
	}
	if details := status.Status().Details; details == nil || details.Kind != "namespaces" {
		return ""
	}
	return ": the cluster is new, apply a Namespace of that name first"
}

func (b *branch) apply(ctx context.Context, a *Apply) error {
	if isDump(a) {
		return b.load(ctx, a)
	}
	return b.each(a, "applying", func(client dynamic.ResourceInterface, o *spec.Object) error {
		data, err := o.MarshalJSON()
		if err != nil {
			return fmt.Errorf("encoding it: %w", err)
		}
		_, err = client.Patch(ctx, o.GetName(), types.ApplyPatchType, data, metav1.PatchOptions{
			FieldManager: fieldManager, Force: ptr.To(true), FieldValidation: metav1.FieldValidationStrict,
		})
		return err
	})
}

func (b *branch) create(ctx context.Context, a *Apply) error {
	return b.each(a, "creating", func(client dynamic.ResourceInterface, o *spec.Object) error {
		_, err := client.Create(ctx, o.DeepCopy(), metav1.CreateOptions{FieldManager: fieldManager, FieldValidation: metav1.FieldValidationStrict})
		return err
	})
}
