package loop

import (
	"context"
	"runtime/debug"

	"k8s.io/klog/v2"
)

// reconcile calls the reconciler and turns its panic into an error of this key.
func (l *typed[K]) reconcile(ctx context.Context, key K) (result Result, err error) {
	defer func() {
		value := recover()
		if value == nil {
			return
		}
		panicked := &PanicError{Value: value, Stack: debug.Stack()}
		l.stats.panicked()
		klog.FromContext(ctx).Error(panicked, "Reconcile panicked", "stack", string(panicked.Stack))
		result, err = Result{}, panicked
	}()
	return l.reconciler.Reconcile(ctx, key)
}
