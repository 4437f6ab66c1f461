package clockapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"minikcm.dev/minikcm/clock"
)

// maxBody is the size limit of a request's body, in bytes.
const maxBody = 4 << 10

// action is the effect of a request on the clock.
type action func(ctx context.Context, pacer *clock.Pacer) error

// verbs are the names beneath Path that a POST may have. Each reads the body, and returns an API
// error if it is wrong.
var verbs = map[string]func(body []byte) (action, error){
	"pause": pause,
	"resume": func(body []byte) (action, error) {
		return resume, decode(body, &struct{}{})
	},
	"step": func(body []byte) (action, error) {
		return step, decode(body, &struct{}{})
	},
	"speed":   setSpeed,
	"advance": advance,
}

func pause(body []byte) (action, error) {
	var request pauseRequest
	err := decode(body, &request)
	return func(_ context.Context, pacer *clock.Pacer) error {
		if request.Work {
			pacer.PauseWork()
		} else {
			pacer.Pause()
		}
		return nil
	}, err
}

func resume(_ context.Context, pacer *clock.Pacer) error {
	pacer.Resume()
	return nil
}

func step(ctx context.Context, pacer *clock.Pacer) error { return pacer.Step(ctx) }

func setSpeed(body []byte) (action, error) {
	var request speedRequest
	if err := decode(body, &request); err != nil {
		return nil, err
	}
	path := field.NewPath("speed")
	if request.Speed == nil {
		return nil, invalid(field.Required(path, "a multiple of the machine's time, such as 10"))
	}
	if err := clock.ValidateSpeed(*request.Speed); err != nil {
		return nil, invalid(field.Invalid(path, *request.Speed, err.Error()))
	}
	return func(_ context.Context, pacer *clock.Pacer) error { return pacer.SetSpeed(*request.Speed) }, nil
}

func advance(body []byte) (action, error) {
	var request advanceRequest
	if err := decode(body, &request); err != nil {
		return nil, err
	}
	path := field.NewPath("duration")
	if request.Duration == nil {
		return nil, invalid(field.Required(path, "how far the clock moves, such as 90s or 24h"))
	}
	d, err := time.ParseDuration(*request.Duration)
	if err != nil {
		return nil, invalid(field.Invalid(path, *request.Duration, "must be a duration such as 90s or 24h"))
	}
	if d < 0 {
		return nil, invalid(field.Invalid(path, *request.Duration, "must not be negative: time does not go back"))
	}
	return func(ctx context.Context, pacer *clock.Pacer) error { return pacer.Advance(ctx, d) }, nil
}

// decode reads a JSON object. An empty body is an object without fields.
func decode(body []byte, into any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err == nil && decoder.More() {
		err = errors.New("more than one JSON value")
	}
	if err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("the body is not what is expected here: %v", err))
	}
	return nil
}

func invalid(err *field.Error) error {
	return apierrors.NewInvalid(schema.GroupKind{Group: resource.Group, Kind: "Clock"}, "clock", field.ErrorList{err})
}
