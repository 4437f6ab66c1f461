// Package strategy applies the strategies of rows to objects before they are stored, as
// upstream's registries do (BeforeCreate, BeforeUpdate, BeforeDelete): defaulting, the
// server's own fields, validation, and what a delete does. Decisions are functions of the
// row, the objects and the time; nothing is read or written.
package strategy
