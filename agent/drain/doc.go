// Package drain carries out what changes the database, one write at a time: drains
// and their undo, steps that other members ask for, and the repair loop.
package drain
