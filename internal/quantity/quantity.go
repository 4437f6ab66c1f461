package quantity

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// The budgets of the text: its bytes, and its exponent.
const (
	maxBytes    = 64
	maxExponent = 30
)

// Parse is resource.ParseQuantity for text of at most 64 bytes with an exponent between -30 and 30.
func Parse(text string) (resource.Quantity, error) {
	if len(text) > maxBytes {
		return resource.Quantity{}, fmt.Errorf("a quantity has %d bytes, more than %d", len(text), maxBytes)
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		if n, err := strconv.Atoi(text[i+1:]); errors.Is(err, strconv.ErrRange) || n > maxExponent || n < -maxExponent {
			return resource.Quantity{}, fmt.Errorf("the exponent of the quantity %q is not between %d and %d", text, -maxExponent, maxExponent)
		}
	}
	amount, err := resource.ParseQuantity(text)
	if err != nil {
		return resource.Quantity{}, fmt.Errorf("%q is not a quantity: %w", text, err)
	}
	return amount, nil
}
