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

// Options say which streams a client wants.
type Options struct {
	Stdin, Stdout, Stderr, TTY bool
	// Doing is what an error of Run's is said to have happened in: "executing command
	// in container".
	Doing string
	// Run is the process. It ends with its context, at the latest. An error that has an
	// exit code (utilexec.ExitError) is told as such, all others as internal ones.
	Run func(ctx context.Context, streams remotecommand.StreamOptions) error
}

// creationTime is how long a client may take to open its streams, and closeTime how long
// it may take for what is left when the process has ended, of the machine's time.
const (
	creationTime = 30 * time.Second
	closeTime    = time.Second
)

// ErrNoUpgrade is a request that does not ask for another protocol.
var ErrNoUpgrade = apierrors.NewBadRequest("Upgrade request required")

// errNoStreams is upstream's answer to a client that wants none of them.
var errNoStreams = errors.New("you must specify at least 1 of stdin, stdout, stderr")

// Serve upgrades the request's connection and runs the process on it. An error means
// that nothing was answered yet; w must be one that can be hijacked.
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

// connection is the streams to a client. Those that it did not ask for are nil.
type connection struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	resize         io.Reader
	// status is where the client reads how the process ended; plain says that it knows
	// nothing of Statuses.
	status io.Writer
	plain  bool
	// gone is closed when the client has closed the connection.
	gone <-chan struct{}
	// close ends the connection, once, and returns when gone is closed.
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

// writeStatus tells the client how the process ended.
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
		_, _ = c.status.Write(data) // a client that has gone needs no status
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

// sizes hands on the sizes of the client's terminal; of several that nobody has asked
// for, the last. What a process does not ask for must not hold up its input.
type sizes struct {
	done <-chan struct{}
	next chan remotecommand.TerminalSize
}

func newSizes(ctx context.Context) *sizes {
	return &sizes{done: ctx.Done(), next: make(chan remotecommand.TerminalSize, 1)}
}

func (s *sizes) read(r io.Reader) {
	defer close(s.next)
	decoder := json.NewDecoder(r)
	for {
		var size remotecommand.TerminalSize
		if decoder.Decode(&size) != nil {
			// What nobody reads would hold up the whole connection.
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
// nil when there will be none any more.
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
