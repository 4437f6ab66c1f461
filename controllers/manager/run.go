package manager

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"minikcm.dev/minikcm/controllers/env"
)

// Run makes the selected controllers, starts the informers and the recorder of
// env, and runs until ctx ends or a controller fails. It returns nil or the first
// failure, and only when all that it started has ended.
func Run(ctx context.Context, e *env.Env, selected []string) error {
	made, err := construct(ctx, e, selected)
	if err != nil {
		return err
	}
	return run(ctx, e, made)
}

// named is a controller that has been made.
type named struct {
	name string
	Controller
}

func construct(ctx context.Context, e *env.Env, selected []string) ([]named, error) {
	for _, name := range selected {
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("%q is not a controller", name)
		}
	}
	var made []named
	for _, d := range Descriptors() {
		if !slices.Contains(selected, d.Name) {
			continue
		}
		c, err := d.New(ctx, e)
		if err != nil {
			return nil, fmt.Errorf("making the controller %s: %w", d.Name, err)
		}
		made = append(made, named{d.Name, c})
	}
	return made, nil
}

func run(ctx context.Context, e *env.Env, controllers []named) error {
	// The recorder ends after the controllers, to write what they report last.
	recording, endRecording := context.WithCancel(context.WithoutCancel(ctx))
	defer endRecording()
	var recorder errgroup.Group
	if e.Recorder != nil {
		recorder.Go(func() error { return e.Recorder.Run(recording) })
	}
	group, groupCtx := errgroup.WithContext(ctx)
	e.Informers.Start(groupCtx.Done())
	for _, c := range controllers {
		group.Go(func() error {
			if err := c.Run(groupCtx); err != nil {
				return fmt.Errorf("running the controller %s: %w", c.name, err)
			}
			return nil
		})
	}
	// With no controllers there may still be informers and the recorder.
	group.Go(func() error { <-groupCtx.Done(); return nil })
	err := group.Wait()
	e.Informers.Shutdown()
	endRecording()
	if recordErr := recorder.Wait(); err == nil && recordErr != nil {
		err = fmt.Errorf("writing events: %w", recordErr)
	}
	return err
}
