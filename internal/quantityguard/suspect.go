package quantityguard

import (
	"bytes"
	"fmt"
)

const (
	// maxDigits is how many digits the exponent of a quantity in an object may have, and maxText how
	// many bytes the quantity: upstream's parser computes with every digit that it stands for.
	maxDigits = 3
	maxText   = 256
	// longRun is a number of digits in a row that a quantity may only have if it is looked at.
	longRun = 100
)

// Limits describes the quantities that Beyond, InJSON and InProtobuf find.
var Limits = fmt.Sprintf("a quantity has more than %d bytes or %d digits in its exponent", maxText, maxDigits)

// Suspect reports whether a document in JSON or protobuf may have a quantity beyond the limits of
// objects. It is fast, and often wrong about documents that have none: InJSON and InProtobuf know.
func Suspect(data []byte) bool {
	if hasEscapedText(data) {
		return true
	}
	// A run of more than maxDigits digits has one at a multiple of maxDigits+1.
	const step = maxDigits + 1
	for i := 0; i < len(data); i += step {
		if !isDigit(data[i]) {
			continue
		}
		begin, end := i, i+1
		for begin > 0 && isDigit(data[begin-1]) {
			begin--
		}
		for end < len(data) && isDigit(data[end]) {
			end++
		}
		if end-begin >= longRun || end-begin > maxDigits && followsExponent(data[:begin]) {
			return true
		}
		i += (end - i - 1) / step * step // the rest of the run
	}
	return false
}

// followsExponent reports whether data ends with the beginning of an exponent, such as 1e-.
func followsExponent(data []byte) bool {
	if n := len(data); n > 0 && (data[n-1] == '+' || data[n-1] == '-') {
		data = data[:n-1]
	}
	n := len(data)
	return n > 1 && (data[n-1] == 'e' || data[n-1] == 'E') && (isDigit(data[n-2]) || data[n-2] == '.')
}

// hasEscapedText reports whether JSON has an escape for a character that needs none, other than the
// escapes that encoders for HTML write.
func hasEscapedText(data []byte) bool {
	for {
		i := bytes.Index(data, []byte(`\u00`))
		if i < 0 || len(data) < i+6 {
			return false
		}
		switch string(bytes.ToLower(data[i+4 : i+6])) {
		case "3c", "3e", "26", "7f": // < > & DEL
		default:
			if data[i+4] >= '2' && data[i+4] <= '7' {
				return true
			}
		}
		data = data[i+6:]
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// Beyond reports whether a quantity exceeds the limits.
func Beyond(text string) bool {
	if len(text) > maxText {
		return true
	}
	for i := range len(text) {
		if text[i] == 'e' || text[i] == 'E' {
			digits := text[i+1:]
			if len(digits) > 0 && (digits[0] == '+' || digits[0] == '-') {
				digits = digits[1:]
			}
			return len(digits) > maxDigits
		}
	}
	return false
}
