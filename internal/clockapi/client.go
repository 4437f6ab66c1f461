package clockapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// Client controls the clock of a running cluster.
type Client struct{ rest rest.Interface }

// NewClient returns a client that sends its requests with rest.
func NewClient(rest rest.Interface) *Client { return &Client{rest: rest} }

// Get returns the state of the clock.
func (c *Client) Get(ctx context.Context) (*State, error) {
	return c.do(ctx, c.rest.Get().AbsPath(Path), "reading the cluster's clock")
}

// Pause makes time stand still.
func (c *Client) Pause(ctx context.Context) (*State, error) {
	return c.post(ctx, "pause", nil, "pausing the cluster's clock")
}

// PauseWork makes time and the cluster's work stand still: Step takes the pieces of work.
func (c *Client) PauseWork(ctx context.Context) (*State, error) {
	return c.post(ctx, "pause", pauseRequest{Work: true}, "pausing the cluster's clock and its work")
}

// Resume ends a Pause.
func (c *Client) Resume(ctx context.Context) (*State, error) {
	return c.post(ctx, "resume", nil, "resuming the cluster's clock")
}

// Step moves the clock to its next timer, and returns when nothing is in flight. While the work is
// paused, it does the next piece of work that waits instead.
func (c *Client) Step(ctx context.Context) (*State, error) {
	return c.post(ctx, "step", nil, "stepping the cluster's clock")
}

// SetSpeed sets the speed of the clock, as a multiple of the machine's time.
func (c *Client) SetSpeed(ctx context.Context, speed float64) (*State, error) {
	return c.post(ctx, "speed", speedRequest{Speed: &speed}, "setting the speed of the cluster's clock")
}

// Advance moves the clock by d, and returns when all that was due by then is done. If ctx ends
// first, the clock stays where it is.
func (c *Client) Advance(ctx context.Context, d time.Duration) (*State, error) {
	text := d.String()
	return c.post(ctx, "advance", advanceRequest{Duration: &text}, "advancing the cluster's clock by "+text)
}

func (c *Client) post(ctx context.Context, verb string, body any, what string) (*State, error) {
	request := c.rest.Post().AbsPath(Path, verb)
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		request = request.SetHeader("Content-Type", "application/json").Body(bytes.NewReader(data))
	}
	return c.do(ctx, request, what)
}

func (c *Client) do(ctx context.Context, request *rest.Request, what string) (*State, error) {
	result := request.SetHeader("Accept", "application/json").Do(ctx)
	err := result.Error() // with the message of a Status, which DoRaw leaves out
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%s: the cluster does not serve %s: run it with this version of \"minikcm up\"", what, Path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	data, err := result.Raw()
	if err != nil {
		return nil, fmt.Errorf("%s: reading the response: %w", what, err)
	}
	state := &State{}
	if err := json.Unmarshal(data, state); err != nil {
		return nil, fmt.Errorf("%s: reading the response: %w", what, err)
	}
	return state, nil
}
