package scenarios

import (
	"context"
	"errors"
	"fmt"

	"minikcm.dev/minikcm/internal/scenario/faultapi"
	"minikcm.dev/minikcm/scenarios/fault"
)

// faultElsewhere injects a fault into a cluster that runs in another process. It returns when
// the fault is over or, if the fault lasts to the end of the steps, when it was injected.
// The server takes the fault back when ctx ends, and when this process ends.
func (b *branch) faultElsewhere(ctx context.Context, f *fault.Fault) error {
	f, seed := f.In(b.run.kinds.Default), b.random.Uint64()
	if f.Lasts() && f.For == 0 && !f.Repeats() {
		return b.faultToTheEnd(ctx, f, seed)
	}
	noted := 0
	last, err := b.run.faults.Hold(ctx, f, seed, func(i *faultapi.Injection) error {
		noted = b.noteNews(i, noted)
		return nil
	})
	return failureOf(last, err)
}

// faultToTheEnd injects a fault that lasts until the run takes it back.
func (b *branch) faultToTheEnd(ctx context.Context, f *fault.Fault, seed uint64) error {
	holding, release := context.WithCancelCause(context.WithoutCancel(ctx))
	begun, ended := make(chan faultapi.Injection, 1), make(chan struct{})
	var failure error
	go func() {
		defer close(ended)
		active := false
		last, err := b.run.faults.Hold(holding, f, seed, func(i *faultapi.Injection) error {
			if !active && i.State == faultapi.Active {
				active = true
				begun <- *i
			}
			return nil
		})
		if !errors.Is(err, errReleased) {
			failure = failureOf(last, err)
		}
	}()
	end := func() error {
		release(errReleased)
		<-ended
		return failure
	}
	select {
	case i := <-begun:
		b.noteNews(&i, 0)
		b.run.later(func(context.Context) error { return end() })
		return nil
	case <-ended:
		return failure
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), end())
	}
}

// errReleased ends a fault that lasts to the end of the steps.
var errReleased = errors.New("the steps are over")

// noteNews appends the fault's notes after the first noted ones to the step's notes. It returns the
// number of the fault's notes, which the next call gets as noted.
func (b *branch) noteNews(i *faultapi.Injection, noted int) int {
	for n := max(noted, i.Forgotten); n < i.Forgotten+len(i.Notes); n++ {
		b.note("%s", i.Notes[n-i.Forgotten].Text)
	}
	return i.Forgotten + len(i.Notes)
}

// failureOf returns why a fault failed; nil if it did not.
func failureOf(last *faultapi.Injection, err error) error {
	switch {
	case err != nil:
		return err
	case last.State == faultapi.Failed:
		return errors.New(last.Error)
	case last.State == faultapi.Stopped:
		return fmt.Errorf("the fault %s was stopped before its end", last.ID)
	}
	return nil
}
