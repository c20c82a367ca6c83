package view

import (
	"errors"
	"fmt"
	"strings"
	_ "time/tzdata" // the coordinator's image has no zone files

	// It is unmaintained since 2020, but Kubernetes 1.36 itself reads the schedules of CronJobs
	// with it, so an expression means the same here. Maintained packages differ
	// (TestCronMeansWhatItMeansInACronJob): netresearch/go-cron 0.15 refuses */24 and does not skip
	// a time that summer time skips; hashicorp/cronexpr and adhocore/gronx do not support CRON_TZ.
	"github.com/robfig/cron/v3"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// crontab reads five fields or a macro, as crontab does, and CRON_TZ= before them.
var crontab = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// maxCron bounds what is parsed.
const maxCron = 256

func parseCron(text string) (cron.Schedule, error) {
	if len(text) > maxCron {
		return nil, fmt.Errorf("%.20q... is longer than %d characters", text, maxCron)
	}
	schedule, err := parse(text)
	if err == nil && strings.Contains(text, "@every") {
		err = errors.New("@every says how often, not when")
	}
	if err != nil {
		return nil, fmt.Errorf("%q is not a cron expression such as 0 2 * * 6: %w", text, err)
	}
	return schedule, nil
}

// parse returns an error for a zone without anything after it, on which the library panics.
func parse(text string) (s cron.Schedule, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("cannot be read: %v", r)
		}
	}()
	return crontab.Parse(text)
}

// SpecError says what in a spec cannot be read that only this package reads: cron expressions and
// time zones. It is nil if everything can.
func SpecError(spec *model.Spec) error {
	for i, w := range spec.Update.Windows {
		if _, err := read(w); err != nil {
			return fmt.Errorf("spec.update.windows[%d].%w", i, err)
		}
	}
	if text := spec.Update.RestartSchedule; text != "" {
		if _, err := parseCron(text); err != nil {
			return fmt.Errorf("spec.update.restartSchedule: %w", err)
		}
	}
	return nil
}
