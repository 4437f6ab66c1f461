package viewapi

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/openrequests"
)

// Feature is the name of the extension. It has no paths beneath /minikcm/v1.
const Feature = "views"

const group = "simulation.minikcm.dev"

// view is a kind whose objects are labelled ConfigMaps.
type view struct {
	kind       string
	label      string
	definition []byte
	// encode writes a spec, which matches the definition, into a ConfigMap without data.
	encode func(spec []byte, c *corev1.ConfigMap) error
	// decode returns the spec that a ConfigMap has.
	decode func(c *corev1.ConfigMap) map[string]any
	// problems returns what the nodes cannot read in a ConfigMap.
	problems func(c *corev1.ConfigMap) []problem
}

// problem is a part of a ConfigMap that the nodes cannot read.
type problem struct {
	// field is the field of the spec that has it; empty: it is not known.
	field string
	why   string
	// text says the same to readers of the ConfigMap.
	text string
}

// Extension serves the kinds.
func Extension() minikcm.Extension {
	e := minikcm.Extension{Name: Feature, Start: func(_ context.Context, cluster *minikcm.Cluster) (minikcm.ExtensionHandler, error) {
		s := service{poolKind.Kind: newNodePools(cluster)}
		for _, v := range views() {
			s[v.kind] = &configMaps{view: v, cluster: cluster}
		}
		return s, nil
	}}
	add := func(kind string, definition []byte) {
		e.Kinds = append(e.Kinds, minikcm.Kind{Definition: definition, Ticks: true, Creates: true, Objects: func(s minikcm.ExtensionHandler) minikcm.LiveObjects {
			return s.(service)[kind]
		}})
	}
	add(poolKind.Kind, poolDefinition)
	for _, v := range views() {
		add(v.kind, v.definition)
	}
	return e
}

func views() []view { return []view{imageProfiles(), staticPodFolders()} }

// service has the objects of each kind.
type service map[string]minikcm.LiveObjects

// ServeHTTP implements minikcm.ExtensionHandler.
func (s service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	minikcm.WriteError(w, apierrors.NewNotFound(schema.GroupResource{Group: group, Resource: Feature}, r.URL.Path))
}

// Close implements minikcm.ExtensionHandler.
func (s service) Close() error { return nil }

// clientFor returns a client with the rights of the user who makes a request, since the objects behind the kinds are not for everyone who
// may write these.
func clientFor(ctx context.Context, cluster *minikcm.Cluster) (kubernetes.Interface, error) {
	user := auth.FromContext(ctx)
	if user == nil {
		return cluster.Client(), nil
	}
	client, err := kubernetes.NewForConfig(cluster.ConfigFor(user.Name, user.Groups...))
	if err != nil {
		return nil, fmt.Errorf("making a client for %s: %w", user.Name, err)
	}
	return client, nil
}

// configMaps are the objects of a view.
type configMaps struct {
	view
	cluster *minikcm.Cluster
	news    openrequests.News

	mu sync.Mutex
	// last are the objects as they were read last.
	last []minikcm.LiveObject
}
