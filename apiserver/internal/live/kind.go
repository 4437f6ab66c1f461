package live

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"minikcm.dev/minikcm/apiserver/internal/crd"
	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// Kind is a kind of this process.
type Kind struct {
	// Definition is a CustomResourceDefinition, in YAML, with one version, a status and cluster scope.
	Definition []byte
	Objects    Objects
	// Ticks says that the objects change with time alone, so that watches look at them again and again.
	Ticks bool
	// Creates says that clients create and delete objects, which Objects implements with Creator.
	Creates bool
}

// Objects are the objects of a Kind.
type Objects interface {
	// Now returns the objects as they are now, each with a spec and a status.
	Now() []Object
	// Apply changes the state to the spec of an object, in JSON. A client that sends an object which cannot
	// be applied gets the error. A dry run makes the same checks, and changes nothing.
	Apply(ctx context.Context, name string, spec []byte, dryRun bool) error
	// Changed is closed when Now may return something else, besides what changes with time alone. Nil: it
	// does not.
	Changed() <-chan struct{}
}

// Creator begins and ends objects. A dry run makes the same checks, and changes nothing.
type Creator interface {
	// Create begins an object. A client gets the error.
	Create(ctx context.Context, name string, spec []byte, dryRun bool) error
	// Delete ends an object, and returns when it has ended, or ctx.
	Delete(ctx context.Context, name string, dryRun bool) error
}

// Object is the content of an object. Spec and Status are encoded as JSON.
type Object struct {
	Name         string
	Spec, Status any
	// Created is the time of its creation; zero: it is the time at which it is seen first.
	Created metav1.Time
	// Version identifies the content, also of an earlier object of the same name. An object whose
	// version is unchanged is not encoded again. 0: it is compared each time.
	Version uint64
}

// verbs are the verbs of objects that are as old as the process.
var verbs = []string{"get", "list", "patch", "update", "watch"}

// Row returns the row of a kind.
func Row(k Kind) (*resources.Resource, error) {
	d := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(k.Definition, d); err != nil {
		return nil, fmt.Errorf("decoding the definition of a kind: %w", err)
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(d)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&d.Spec)
	d.Status.AcceptedNames = d.Spec.Names
	if d.Status.AcceptedNames.Singular == "" {
		d.Status.AcceptedNames.Singular = strings.ToLower(d.Spec.Names.Kind)
	}
	row := crd.New(d, nil).Stored
	row.Live, row.Unhooked = true, true
	// Only the cluster writes the status.
	row.Subresources = slices.DeleteFunc(row.Subresources, func(s resources.Subresource) bool { return s.Name == "status" })
	if !k.Creates {
		row.Verbs = verbs
	}
	return row, nil
}
