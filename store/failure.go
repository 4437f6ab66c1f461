package store

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
)

// failure records the first error that etcd cannot recover from. etcd reports such
// errors by logging at a level that ends the process. failure is the hook of that
// level: it ends only the goroutine, and the store turns unavailable.
type failure struct {
	once     sync.Once
	happened chan struct{}
	err      error // set before happened is closed
	// afterwards calls a function when the failure has happened, like
	// context.AfterFunc.
	afterwards func(func()) (stop func() bool)
	cancel     context.CancelFunc // runs the functions given to afterwards
	// patience is how long unlessBroken waits after the failure.
	patience time.Duration
}

func newFailure() *failure {
	broken, cancel := context.WithCancel(context.Background())
	return &failure{
		happened: make(chan struct{}), cancel: cancel, patience: brokenStopTimeout,
		afterwards: func(call func()) func() bool { return context.AfterFunc(broken, call) },
	}
}

func (f *failure) set(err error) {
	f.once.Do(func() {
		f.err = err
		close(f.happened)
		f.cancel()
	})
}

// bound returns a context that ends with ctx or with the failure, so that no caller
// waits for a broken etcd.
func (f *failure) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := f.afterwards(cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

func (f *failure) get() error {
	select {
	case <-f.happened:
		return f.err
	default:
		return nil
	}
}

// recover is deferred; it records a panic as the failure.
func (f *failure) recover() {
	if r := recover(); r != nil {
		f.set(fmt.Errorf("panic: %v", r))
	}
}

// unlessBroken calls call and returns when it has returned. If etcd has failed and call does
// not return within f.patience, unlessBroken leaves it running: a goroutine of etcd
// that ended in its fatal log line keeps its locks, and others wait for them forever.
func (f *failure) unlessBroken(call func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer f.recover()
		call()
	}()
	select {
	case <-done:
		return
	case <-f.happened:
	}
	patience := clock.Real().NewTimer(f.patience)
	defer patience.Stop()
	select {
	case <-done:
	case <-patience.C():
	}
}

// OnWrite implements zapcore.CheckWriteHook.
func (f *failure) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	encoder := zapcore.NewMapObjectEncoder()
	var details []string
	for _, field := range fields {
		field.AddTo(encoder)
		details = append(details, fmt.Sprintf("%s: %v", field.Key, encoder.Fields[field.Key]))
	}
	message := entry.Message
	if len(details) > 0 {
		message += " (" + strings.Join(details, ", ") + ")"
	}
	f.set(fmt.Errorf("%s", message))
	runtime.Goexit()
}

// etcdLogger passes etcd's log messages from level warning up to logger, and fatal ones
// to f.
func etcdLogger(logger klog.Logger, f *failure) *zap.Logger {
	return zap.New(&logCore{logger: logger}, zap.WithFatalHook(f), zap.WithPanicHook(f))
}

// logCore is a zap core that writes to a logr logger.
type logCore struct {
	logger klog.Logger
	fields []zapcore.Field
}

func (c *logCore) Enabled(level zapcore.Level) bool {
	return level >= zapcore.WarnLevel && c.logger.GetSink() != nil
}

func (c *logCore) With(fields []zapcore.Field) zapcore.Core {
	return &logCore{logger: c.logger, fields: append(c.fields[:len(c.fields):len(c.fields)], fields...)}
}

func (c *logCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

func (c *logCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	encoder := zapcore.NewMapObjectEncoder()
	var pairs []any
	for _, list := range [][]zapcore.Field{c.fields, fields} {
		for _, field := range list {
			field.AddTo(encoder)
			pairs = append(pairs, field.Key, encoder.Fields[field.Key])
		}
	}
	if entry.Level >= zapcore.ErrorLevel {
		c.logger.Error(nil, "etcd: "+entry.Message, pairs...)
	} else {
		c.logger.Info("etcd: "+entry.Message, pairs...)
	}
	return nil
}

func (c *logCore) Sync() error { return nil }
