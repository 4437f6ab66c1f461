package plugins

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/apiserver/internal/admission"
	"minikcm.dev/minikcm/apiserver/internal/admission/hooks"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/store"
)

// Host holds the parts of the API server that the plugins use.
type Host struct {
	// Objects returns the storage of a built-in resource.
	Objects func(resource schema.GroupVersionResource) *storage.Objects
	// CreateOwn creates an object of the cluster itself.
	CreateOwn func(ctx context.Context, obj runtime.Object) error
	// Kind returns the row of a kind that is served now, or nil.
	Kind func(kind schema.GroupVersionKind) *resources.Resource
	// Authorizer decides about requests. Questions decides the same, for questions that are no
	// requests.
	Authorizer, Questions auth.Authorizer
	// NodeRestriction and Hooks are the plugins that the server uses elsewhere, too.
	NodeRestriction admission.NodeRestriction
	Hooks           *hooks.Plugin
	// Chance generates the names of volumes.
	Chance *clock.Keyed
	Clock  clock.Clock
	Logger klog.Logger
	Store  store.Store
	// SharedStore reports that other servers use the store too.
	SharedStore bool
	// Version is the Kubernetes version whose API is served.
	Version string
}

// New makes the selected plugins, in the order of the table.
func New(opts Options, host *Host) ([]any, error) {
	if err := opts.Check(); err != nil {
		return nil, err
	}
	configs, err := opts.readConfig()
	if err != nil {
		return nil, err
	}
	var made []any
	for _, row := range Table() {
		if row.build == nil || !opts.enables(row) {
			continue
		}
		plugin, err := row.build(host, configs[row.Name])
		if err != nil {
			return nil, fmt.Errorf("configuring the admission plugin %s: %w", row.Name, err)
		}
		made = append(made, admission.Named{Name: row.Name, Operations: row.operations(), Plugin: plugin})
	}
	return made, nil
}

// operations returns the operations that the plugin's metrics count; nil: all.
func (p Plugin) operations() []admission.Operation {
	var all []admission.Operation
	for _, letter := range p.on {
		all = append(all, map[rune]admission.Operation{'C': admission.Create, 'U': admission.Update, 'D': admission.Delete, 'X': admission.Connect}[letter])
	}
	return all
}

// core returns the storage of a resource of the core group.
func (h *Host) core(plural string) *storage.Objects {
	return h.Objects(corev1.SchemeGroupVersion.WithResource(plural))
}
