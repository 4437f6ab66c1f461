package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	remoteconsts "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/wsstream"
	utilexec "k8s.io/utils/exec"
)

// Options configure Serve: the streams that a client requests, and the process.
type Options struct {
	Stdin, Stdout, Stderr, TTY bool
	// Doing describes Run in error messages: "executing command in container".
	Doing string
	// Run runs the process. It returns when its context ends, at the latest. An error
	// with an exit code (utilexec.ExitError) is reported with the code, others as
	// internal errors.
	Run func(ctx context.Context, streams remotecommand.StreamOptions) error
}

// creationTime limits how long a client takes to open its streams, closeTime how long it
// takes to read the rest after the process has ended, in real time.
const (
	creationTime = 30 * time.Second
	closeTime    = time.Second
)

// ErrNoUpgrade is returned for a request that does not ask for a protocol upgrade.
var ErrNoUpgrade = apierrors.NewBadRequest("Upgrade request required")

// errNoStreams is upstream's error for a client that requests no stream.
var errNoStreams = errors.New("you must specify at least 1 of stdin, stdout, stderr")

// Serve upgrades the request's connection and runs the process on it. It returns an
// error only before it has sent a response; w must support hijacking.
func Serve(w http.ResponseWriter, r *http.Request, o Options) error {
	if o.TTY {
		o.Stderr = false
	}
	var connect func(http.ResponseWriter, *http.Request, Options) (*connection, error)
	switch {
	case wsstream.IsWebSocketRequest(r):
		connect = openWebSocket
	case httpstream.IsUpgradeRequest(r):
		connect = openSPDY
	default:
		return ErrNoUpgrade
	}
	if !o.Stdin && !o.Stdout && !o.Stderr {
		http.Error(w, errNoStreams.Error(), http.StatusBadRequest)
		return nil
	}
	c, err := connect(w, r, o)
	if c == nil {
		return err
	}
	c.serve(r.Context(), o)
	return nil
}

// connection is the streams to a client. Streams that it did not request are nil.
type connection struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	resize         io.Reader
	// status is the stream for the outcome of the process; plain reports that the client
	// expects text instead of a Status.
	status io.Writer
	plain  bool
	// gone is closed when the client has closed the connection.
	gone <-chan struct{}
	// close closes the connection, once, and returns when gone is closed.
	close func()
}

func (c *connection) serve(ctx context.Context, o Options) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-c.gone:
			cancel()
		case <-ctx.Done():
		}
	})
	stop := context.AfterFunc(ctx, c.close)
	sizes := newSizes(ctx)
	if c.resize != nil {
		watching.Go(func() { sizes.read(c.resize) })
	}
	streams := remotecommand.StreamOptions{Stdin: c.stdin, Stdout: c.stdout, Stderr: c.stderr, Tty: o.TTY, TerminalSizeQueue: sizes}
	err := o.Run(ctx, streams)
	if stop() {
		c.writeStatus(err, o.Doing)
	}
	c.close()
	cancel()
	watching.Wait()
}

// writeStatus sends the outcome of the process to the client.
func (c *connection) writeStatus(err error, doing string) {
	status := statusOf(err, doing)
	if c.plain {
		if status.Status != metav1.StatusSuccess {
			_, _ = io.WriteString(c.status, status.Message)
		}
		return
	}
	data, err := json.Marshal(status)
	if err == nil {
		_, _ = c.status.Write(data) // fails only if the client has disconnected
	}
}

func statusOf(err error, doing string) *metav1.Status {
	var exit utilexec.ExitError
	switch {
	case err == nil:
		return &metav1.Status{Status: metav1.StatusSuccess}
	case errors.As(err, &exit) && exit.Exited():
		return &metav1.Status{
			Status: metav1.StatusFailure,
			Reason: remoteconsts.NonZeroExitCodeReason,
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{
				{Type: remoteconsts.ExitCodeCauseType, Message: strconv.Itoa(exit.ExitStatus())},
			}},
			Message: fmt.Sprintf("command terminated with non-zero exit code: %v", exit),
		}
	}
	return &apierrors.NewInternalError(fmt.Errorf("error %s: %w", doing, err)).ErrStatus
}

// sizes passes on the sizes of the client's terminal. It keeps only the newest unread
// one, so that a process that does not read sizes does not block its input.
type sizes struct {
	done <-chan struct{}
	next chan remotecommand.TerminalSize
}

func newSizes(ctx context.Context) *sizes {
	return &sizes{done: ctx.Done(), next: make(chan remotecommand.TerminalSize, 1)}
}

// maxSizeBytes limits the message with one size of the terminal, beyond what the decoder
// has buffered of it: the decoder keeps an unfinished message in memory.
const maxSizeBytes = 4096

func (s *sizes) read(r io.Reader) {
	defer close(s.next)
	limited := &io.LimitedReader{R: r}
	decoder := json.NewDecoder(limited)
	for {
		limited.N = maxSizeBytes // what the decoder has buffered does not count
		var size remotecommand.TerminalSize
		if decoder.Decode(&size) != nil {
			// Unread data of one stream would block the whole connection.
			_, _ = io.Copy(io.Discard, r)
			return
		}
		select {
		case <-s.next:
		default:
		}
		s.next <- size
	}
}

// Next implements remotecommand.TerminalSizeQueue: it waits for a new size, and returns
// nil when there will be no more.
func (s *sizes) Next() *remotecommand.TerminalSize {
	select {
	case size, ok := <-s.next:
		if ok {
			return &size
		}
	case <-s.done:
	}
	return nil
}
