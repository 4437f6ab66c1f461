package controllers

import (
	"context"
	"net/http"

	"minikcm.dev/minikcm/controllers/internal/controller"
	"minikcm.dev/minikcm/controllers/internal/env"
)

// Descriptor is one controller's row in the table.
type Descriptor = controller.Descriptor

// Settings are the options of all controllers, under kube-controller-manager's names. A
// zero field means upstream's default.
type Settings = controller.Settings

// Concurrency is a flag for a number of workers.
type Concurrency = controller.Concurrency

type runner interface {
	Run(ctx context.Context) error
}

// constructor adapts a package's New to the type of Descriptor.Build.
func constructor[C runner](make func(context.Context, *env.Env) (C, error)) func(*controller.Parts) error {
	return func(p *controller.Parts) error {
		c, err := make(context.Background(), p.Env)
		if err == nil {
			p.Go(c.Run)
		}
		if d, ok := any(c).(interface{ Debug() http.Handler }); ok && err == nil {
			p.Debug = d.Debug()
		}
		return err
	}
}

// configured is constructor for a package whose New takes options.
func configured[C runner, O any](make func(context.Context, *env.Env, O) (C, error), options func(*Settings) O) func(*controller.Parts) error {
	return func(p *controller.Parts) error {
		c, err := make(context.Background(), p.Env, options(p.Settings))
		if err == nil {
			p.Go(c.Run)
		}
		return err
	}
}
