# A whole life with Debian's client of beanstalkd: helper_beaneater.rb ADDRESS. Prints "fine" at the end.
require 'beaneater'

def equal(got, wanted)
  raise "got #{got.inspect}, wanted #{wanted.inspect}" unless got == wanted
end

client = Beaneater.new(ARGV[0])
tube = client.tubes['Ruby.Mail']
tube.put('low', pri: 2000, ttr: 100)
tube.put("high \u00e4\0\r\n", pri: 1)
tube.put('later', delay: 1000)
equal tube.peek(:ready).body.b, "high \u00e4\0\r\n".b
equal tube.peek(:delayed).body, 'later'

job = tube.reserve(5)
equal job.body.b, "high \u00e4\0\r\n".b
equal [job.stats.state, job.stats.pri, job.ttr], ['reserved', 1, 120]
job.touch
job.delete
equal job.exists?, false

job = tube.reserve(5)
job.release(pri: 10, delay: 0)
job = tube.reserve(5)
equal [job.body, job.pri], ['low', 10]
job.bury
equal tube.peek(:buried).body, 'low'
equal tube.kick(5)[:status], 'KICKED'
job = tube.reserve(5)
equal [job.body, job.stats.buries, job.stats.kicks], ['low', 1, 1]
job.delete

stats = tube.stats
equal [stats.name, stats.current_jobs_delayed, stats.current_jobs_ready], ['Ruby.Mail', 1, 0]
tube.pause(1)
tube.kick(1)
begin
  client.tubes.watch!('Ruby.Mail')
  raise 'it is paused' if client.tubes.reserve(0)
rescue Beaneater::TimedOutError
  nil
end
job = client.tubes.reserve(30)
equal job.body, 'later'
job.delete
equal client.tubes.all.map(&:name).include?('Ruby.Mail'), true
equal client.stats.cmd_put, 3
client.close
puts 'fine'
