package hooks

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	policies "k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/manifest/loader"

	"minikcm.dev/minikcm/apiserver/internal/admission/manifests"
	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// UseManifests adds the objects of a folder: webhook configurations of one resource, or policies and
// bindings, in this order. Upstream's plugins apply them before the objects of the API. It is called before
// the first request.
func (p *Plugin) UseManifests(dir string, plurals ...string) error {
	kinds := make([]*resources.Resource, len(plurals))
	for i, plural := range plurals {
		gvr := admissionv1.SchemeGroupVersion.WithResource(plural)
		if kinds[i] = p.opts.BuiltIn.Lookup(gvr); kinds[i] == nil {
			return fmt.Errorf("the API does not serve %s", gvr.GroupResource())
		}
	}
	folder, err := manifests.Open(dir, p.opts.Logger, kinds...)
	if err == nil {
		p.folders[plurals[len(plurals)-1]] = folder
	}
	return err
}

// idle reports whether there is nothing to call for the objects of a resource.
func (p *Plugin) idle(ctx context.Context, resource string) (bool, error) {
	if folder := p.folders[resource]; folder != nil {
		if empty, err := folder.Of(resource).Empty(ctx); !empty || err != nil {
			return false, err
		}
	}
	return p.opts.Objects(resource).Empty(ctx)
}

// anyFolder is a folder that exists. Upstream's plugins take static objects only with one, which they
// leave to the source.
const anyFolder = "/"

// webhookConfig returns the configuration of upstream's plugin for webhooks: nil without static ones.
func (p *Plugin) webhookConfig(resource string) io.Reader {
	if p.folders[resource] == nil {
		return nil
	}
	return strings.NewReader(`{"apiVersion":"apiserver.config.k8s.io/v1","kind":"WebhookAdmissionConfiguration","staticManifestsDir":"` + anyFolder + `"}`)
}

// refresher brings the state of a source up to date.
type refresher = func(ctx context.Context) error

// both returns the refresher of two sources.
func both(first, second refresher) refresher {
	return func(ctx context.Context) error {
		if err := first(ctx); err != nil {
			return err
		}
		return second(ctx)
	}
}

// addStatic adds the policies of the folder to upstream's plugin, as the source that with makes of them.
// It returns that source, or nil without a folder.
func addStatic[H any, S interface {
	policies.ReloadableSource[H]
	refresh(ctx context.Context) error
}](p *Plugin, resource string, plugin *policies.Plugin[H], with func(p *Plugin, objects func(resource string) Objects) S, refresh refresher) (static []S, all refresher) {
	folder := p.folders[resource]
	if folder == nil {
		return nil, refresh
	}
	source := with(p, func(resource string) Objects { return folder.Of(resource) })
	plugin.SetStaticManifestsDir(anyFolder)
	plugin.SetStaticSourceFactory(func(string) (policies.ReloadableSource[H], error) { return source, nil })
	return []S{source}, both(source.refresh, refresh)
}

// addStaticWebhooks adds the webhooks of the folder to upstream's plugin.
func (p *Plugin) addStaticWebhooks(resource string, plugin interface {
	SetStaticSourceFactory(factory generic.StaticSourceFactory)
}, build func(objects []runtime.Object) []webhook.WebhookAccessor, refresh refresher,
) refresher {
	folder := p.folders[resource]
	if folder == nil {
		return refresh
	}
	source := &staticWebhooks{objects: folder.Of(resource), build: build}
	plugin.SetStaticSourceFactory(func(string) (generic.ReloadableSource, error) { return source, nil })
	return both(source.refresh, refresh)
}

// staticWebhooks has the webhooks of a folder.
type staticWebhooks struct {
	objects Objects
	build   func(objects []runtime.Object) []webhook.WebhookAccessor

	mu        sync.Mutex
	filled    bool
	version   int64
	accessors []webhook.WebhookAccessor
}

// Webhooks implements upstream's Source. It returns the webhooks that the last refresh has read.
func (s *staticWebhooks) Webhooks() []webhook.WebhookAccessor {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accessors
}

// HasSynced implements upstream's Source.
func (*staticWebhooks) HasSynced() bool { return true }

// RunReloadLoop implements upstream's ReloadableSource. There is nothing to run.
func (*staticWebhooks) RunReloadLoop(context.Context) {}

func (s *staticWebhooks) refresh(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	version := s.objects.Version()
	if s.filled && version == s.version {
		return nil
	}
	objects, err := s.objects.KnownIn(ctx, "")
	if err != nil {
		return err
	}
	s.accessors, s.filled, s.version = s.build(objects), true, version
	return nil
}

func mutatingAccessors(objects []runtime.Object) []webhook.WebhookAccessor {
	return loader.BuildMutatingAccessors(typed[*admissionv1.MutatingWebhookConfiguration](objects))
}

func validatingAccessors(objects []runtime.Object) []webhook.WebhookAccessor {
	return loader.BuildValidatingAccessors(typed[*admissionv1.ValidatingWebhookConfiguration](objects))
}

func typed[T any](objects []runtime.Object) []T {
	var all []T
	for _, obj := range objects {
		if o, ok := obj.(T); ok {
			all = append(all, o)
		}
	}
	return all
}
