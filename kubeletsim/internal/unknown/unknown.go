package unknown

import (
	"errors"
	"strings"
)

// Text stands for any text. It is a noncharacter of Unicode, which programs pass on as they do others.
const Text = "\U0010FFFF"

// Line is the content of an unknown file and the output of an unknown program.
const Line = Text + "\n"

// Shown is the text that is shown to people in place of Text.
const Shown = "<unknown>"

// ErrFile is the error for a file that may be there or not.
var ErrFile = errors.New("it is unknown whether the file exists")

// Status marks an exit status as unknown. The low byte of such a status is the assumed status.
const Status = 0x100

// Succeeded is the status of a program that is assumed to have succeeded.
const Succeeded = Status

// In reports whether a text is unknown in part.
func In(text string) bool { return strings.Contains(text, Text) }

// Is reports whether a text is unknown except for its line ends.
func Is(text string) bool { return strings.TrimSpace(text) == Text }

// Show returns a text for people.
func Show(text string) string { return strings.ReplaceAll(text, Text, Shown) }

// Known reports whether a status is known.
func Known(status int) bool { return status&Status == 0 }

// Holds reports whether a status is success, known or assumed.
func Holds(status int) bool { return status&0xff == 0 }

// Exit returns the exit code of a command that ends with a status: an unknown one passes.
func Exit(status int) int {
	if !Known(status) {
		return 0
	}
	return status & 0xff
}
