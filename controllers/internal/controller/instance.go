package controller

import (
	"context"
	"net/http"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/internal/loop"
)

// Parts are the parts of which Build makes an instance of a controller. Its methods add to the work of Run.
type Parts struct {
	*env.Env
	// Name is the controller's name, and Settings are the options of all controllers.
	Name     string
	Settings *Settings
	// Client acts as the controller. Config is the client's configuration, which Build may change.
	Client kubernetes.Interface
	Config *rest.Config
	// Debug, which Build may set, serves /debug/controllers/NAME and the paths below it; nil: nothing does.
	Debug http.Handler

	workers int
	before  []func(ctx context.Context) error
	runs    []func(ctx context.Context) error
}

// New builds an instance of the controller in the environment e. It starts nothing.
func (d *Descriptor) New(e *env.Env, s *Settings) (*Parts, error) {
	p := &Parts{Env: e, Name: d.Name, Settings: s, workers: int(d.Workers)}
	if d.Idle != nil {
		if why := d.Idle(e, s); why != "" {
			p.Before(func(context.Context) error {
				e.Logger.Info(why, "controller", d.Name)
				return nil
			})
			return p, nil
		}
	}
	var err error
	if p.Client, p.Config, err = e.ClientFor(d.Name); err != nil {
		return nil, err
	}
	return p, d.Build(p)
}

// Options are the options of the controller's loop, for a Build that changes them.
func (p *Parts) Options() loop.Options { return p.LoopOptions(p.Name, p.workers) }

// Loop makes the controller's loop, which calls r with its keys.
func (p *Parts) Loop(r loop.Reconciler) loop.Loop { return p.add(p.Options(), r) }

// Beside makes another loop, with suffix in its name. The flag for the controller's workers does not change its number.
func (p *Parts) Beside(suffix string, workers int, r loop.Reconciler) loop.Loop {
	return p.add(p.LoopOptions(p.Name+suffix, workers), r)
}

func (p *Parts) add(opts loop.Options, r loop.Reconciler) loop.Loop {
	l := loop.New(opts, r)
	p.Go(l.Run)
	return l
}

// Before makes Run call f before the loops begin: to add a key that no event adds, or to read what they need. An error
// ends Run.
func (p *Parts) Before(f func(ctx context.Context) error) { p.before = append(p.before, f) }

// Go makes Run run f beside the loops until ctx ends.
func (p *Parts) Go(f func(ctx context.Context) error) { p.runs = append(p.runs, f) }

// Run works until ctx ends. It returns when all of the instance's goroutines have ended.
func (p *Parts) Run(ctx context.Context) error {
	for _, f := range p.before {
		if err := f(ctx); err != nil {
			return err
		}
	}
	switch len(p.runs) {
	case 0:
		<-ctx.Done()
		return nil
	case 1:
		return p.runs[0](ctx)
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, run := range p.runs {
		group.Go(func() error { return run(ctx) })
	}
	return group.Wait()
}

// Each is a reconciler that calls reconcile with the object that a key names in the informer's cache. A key without
// an object needs nothing.
func Each[T any](informer cache.SharedIndexInformer, reconcile func(ctx context.Context, object T) (loop.Result, error)) loop.Func {
	objects := informer.GetStore()
	return func(ctx context.Context, key types.NamespacedName) (loop.Result, error) {
		found, exists, err := objects.GetByKey(cache.NewObjectName(key.Namespace, key.Name).String())
		if object, ok := found.(T); ok && exists {
			return reconcile(ctx, object)
		}
		return loop.Result{}, err
	}
}
